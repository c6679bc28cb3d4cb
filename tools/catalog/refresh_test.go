package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const ec2Answer = `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">%[2]s</%[1]sResponse>`

// fakeAWS answers the calls that a refresh makes, for one region with one type.
// It gives the Pricing request bodies to seen.
func fakeAWS(t *testing.T, now time.Time, seen *[]string) string {
	t.Helper()
	ec2 := map[string]string{
		"DescribeInstanceTypes": `<instanceTypeSet><item><instanceType>g5.xlarge</instanceType><hypervisor>nitro</hypervisor>
			<supportedUsageClasses><item>spot</item><item>on-demand</item><item>capacity-block</item></supportedUsageClasses>
			<supportedVirtualizationTypes><item>hvm</item></supportedVirtualizationTypes>
			<processorInfo><manufacturer>AMD</manufacturer><supportedArchitectures><item>x86_64</item></supportedArchitectures><sustainedClockSpeedInGhz>3.3</sustainedClockSpeedInGhz></processorInfo>
			<vCpuInfo><defaultVCpus>4</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>16384</sizeInMiB></memoryInfo>
			<networkInfo><ipv4AddressesPerInterface>15</ipv4AddressesPerInterface><networkPerformance>Up to 10 Gigabit</networkPerformance>
			<networkCards><item><networkCardIndex>0</networkCardIndex><maximumNetworkInterfaces>4</maximumNetworkInterfaces></item><item><networkCardIndex>1</networkCardIndex><maximumNetworkInterfaces>9</maximumNetworkInterfaces></item></networkCards></networkInfo>
			<instanceStorageInfo><nvmeSupport>required</nvmeSupport><totalSizeInGB>250</totalSizeInGB></instanceStorageInfo>
			<ebsInfo><maximumEbsAttachments>25</maximumEbsAttachments><attachmentLimitType>shared</attachmentLimitType></ebsInfo>
			<gpuInfo><gpus><item><name>A10G</name><manufacturer>NVIDIA</manufacturer><count>1</count><memoryInfo><sizeInMiB>22888</sizeInMiB></memoryInfo></item></gpus></gpuInfo>
			</item><item><instanceType>mac2.metal</instanceType><processorInfo><supportedArchitectures><item>arm64_mac</item></supportedArchitectures></processorInfo></item></instanceTypeSet>`,
		"DescribeAvailabilityZones": `<availabilityZoneInfo><item><zoneName>us-west-2a</zoneName><zoneId>usw2-az2</zoneId><zoneType>availability-zone</zoneType></item>
			<item><zoneName>us-west-2b</zoneName><zoneId>usw2-az1</zoneId><zoneType>availability-zone</zoneType></item>
			<item><zoneName>us-west-2-lax-1a</zoneName><zoneId>usw2-lax1-az1</zoneId><zoneType>local-zone</zoneType></item></availabilityZoneInfo>`,
		"DescribeInstanceTypeOfferings": `<instanceTypeOfferingSet><item><instanceType>g5.xlarge</instanceType><location>usw2-az2</location></item>
			<item><instanceType>g5.xlarge</instanceType><location>usw2-lax1-az1</location></item>
			<item><instanceType>mac2.metal</instanceType><location>usw2-az1</location></item></instanceTypeOfferingSet>`,
		"DescribeSpotPriceHistory": `<spotPriceHistorySet><item><instanceType>g5.xlarge</instanceType><availabilityZone>us-west-2a</availabilityZone><spotPrice>0.4025</spotPrice><timestamp>` + now.Add(-time.Hour).Format(time.RFC3339) + `</timestamp></item></spotPriceHistorySet>`,
	}
	var mu sync.Mutex // shared and dedicated tenancy are asked for at the same time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetProducts") {
			mu.Lock()
			*seen = append(*seen, string(body))
			mu.Unlock()
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			product := `{"product":{"attributes":{"instanceType":"g5.xlarge"}},"terms":{"OnDemand":{"x":{"priceDimensions":{"y":{"pricePerUnit":{"USD":"1.0060000000"}}}}}}}`
			if err := json.NewEncoder(w).Encode(map[string]any{"PriceList": []string{product}}); err != nil {
				t.Error(err)
			}
			return
		}
		action := strings.TrimPrefix(strings.Split(string(body), "&")[0], "Action=")
		fmt.Fprintf(w, ec2Answer, action, ec2[action])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRefresh_WritesWhatTheAPIsSay(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var asked []string
	dir := t.TempDir()
	err := refresh(t.Context(), options{
		regions: []string{"us-west-2"}, endpoint: fakeAWS(t, now, &asked), prices: pricesFromAPI, out: dir,
		ec2: catalog.Source{Text: "EC2 API", Date: "2026-03-04"}, today: now, karpenter: release(t, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "types.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	types, err := facts.DecodeTypes(data)
	if err != nil || len(types.Facts) != 1 {
		t.Fatalf("%+v, %v", types.Facts, err)
	}
	f := types.Facts[0]
	if f.Name != "g5.xlarge" || f.Arch != "amd64" || f.VCPU != 4 || f.MemoryMiB != 16384 || f.CPUManufacturer != "amd" || f.ClockMHz != 3300 ||
		f.ENIs != 4 || f.IPv4PerENI != 15 || f.NVMeGB != 250 || f.GPUName != "a10g" || f.GPUManufacturer != "nvidia" || f.GPUCount != 1 ||
		f.GPUMemoryMiB != 22888 || f.EBSVolumes != 25 || !f.SharedEBSSlots || strings.Join(f.UsageClasses, " ") != "on-demand spot" {
		t.Errorf("fact %+v", f)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "us-west-2.tsv")); err != nil {
		t.Fatal(err)
	}
	m, err := facts.DecodeMarket("us-west-2", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Zones) != 2 || len(m.Offered) != 1 || len(m.Offered["g5.xlarge"]) != 1 || m.Zones[m.Offered["g5.xlarge"][0]].ID != "usw2-az2" {
		t.Errorf("zones %v, offered %v", m.Zones, m.Offered)
	}
	if m.OnDemand["g5.xlarge"] != 1_006_000_000 || m.SpotIsEstimate || m.Spot["g5.xlarge"][0] != quantity.Money(402_500_000) {
		t.Errorf("on demand %v, spot %v, estimated %t", m.OnDemand, m.Spot, m.SpotIsEstimate)
	}
	both := strings.Join(asked, "\n")
	if len(asked) != 2 || !strings.Contains(asked[0], "us-west-2") || !strings.Contains(both, "Shared") || !strings.Contains(both, "Dedicated") {
		t.Errorf("Pricing was asked %q", asked)
	}
}

func TestRefresh_OldSpotHistoryIsNotBelieved(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var asked []string
	dir := t.TempDir()
	err := refresh(t.Context(), options{
		regions: []string{"us-west-2"}, endpoint: fakeAWS(t, now.AddDate(-1, 0, 0), &asked), prices: pricesFromTables, out: dir, today: now, karpenter: release(t, nil),
		ec2: catalog.Source{Text: "EC2 API", Date: "2026-03-04"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "us-west-2.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := facts.DecodeMarket("us-west-2", data)
	if err != nil || !m.SpotIsEstimate || m.Spot["g5.xlarge"][0] >= m.OnDemand["g5.xlarge"] || len(asked) != 0 {
		t.Errorf("spot %v, on demand %v, estimated %t, asked %v, %v", m.Spot, m.OnDemand, m.SpotIsEstimate, asked, err)
	}
}

// fakeEarlier answers as the API did before: its p3.2xlarge has the facts of the
// g5.xlarge of now, and it knows the g5.xlarge in another zone.
func fakeEarlier(t *testing.T, current string) string {
	t.Helper()
	names := strings.NewReplacer("g5.xlarge", "p3.2xlarge", "mac2.metal", "g5.xlarge", "arm64_mac", "arm64")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := http.Post(current, r.Header.Get("Content-Type"), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, names.Replace(string(body))); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRefresh_OlderFamiliesComeFromAnEarlierRecordingAndChangeNothingElse(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var asked []string
	current := fakeAWS(t, now.AddDate(-1, 0, 0), &asked)
	for families, want := range map[string]int{"p3,g5": 2, "p2,g5": 1} {
		dir := t.TempDir()
		err := refresh(t.Context(), options{
			regions: []string{"us-west-2"}, endpoint: current, prices: pricesFromTables, out: dir, today: now, karpenter: release(t, nil),
			ec2:   catalog.Source{Text: "EC2 API", Date: "2026-03-04"},
			older: older{fakeEarlier(t, current), strings.Split(families, ","), catalog.Source{Text: "EC2 API before", Date: "2025-01-02"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "us-west-2.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := facts.DecodeMarket("us-west-2", data)
		if err != nil || len(m.Offered) != want || len(m.Offered["g5.xlarge"]) != 1 || m.Zones[m.Offered["g5.xlarge"][0]].ID != "usw2-az2" {
			t.Errorf("%s: offered %v, %v", families, m.Offered, err)
		}
		noted := strings.Contains(m.Sources[0].Text, "p3: EC2 API before, 2025-01-02")
		if added := want == 2; noted != added || (m.OnDemand["p3.2xlarge"] > 0) != added || (len(m.Spot["p3.2xlarge"]) == 1) != added {
			t.Errorf("%s: source %q, on demand %v, spot %v", families, m.Sources[0].Text, m.OnDemand, m.Spot)
		}
	}
}

func TestParse_OlderFamiliesNeedASource(t *testing.T) {
	if _, err := parse([]string{"-karpenter", "/karpenter-provider-aws@v1.2.3", "-older-endpoint", "http://x", "-older-families", "p3"}); !errors.Is(err, errOlder) {
		t.Errorf("err = %v", err)
	}
	o, err := parse([]string{"-karpenter", "/karpenter-provider-aws@v1.2.3", "-older-endpoint", "http://x", "-older-families", "p3,g3", "-older-source", "s", "-older-date", "2025-01-02"})
	if err != nil || !o.older.has("p3.2xlarge") || o.older.has("p3dn.24xlarge") {
		t.Errorf("%+v, %v", o.older, err)
	}
}

func TestParse_RefusesAnUnknownPriceSource(t *testing.T) {
	if _, err := parse([]string{"-karpenter", "/karpenter-provider-aws@v1.2.3", "-prices", "guess"}); err == nil || !strings.Contains(err.Error(), "api or tables") {
		t.Errorf("err = %v", err)
	}
}
