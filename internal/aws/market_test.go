package aws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// endpoint is an endpoint that answers what a test says, and keeps what it was asked.
type endpoint struct {
	mu      sync.Mutex
	bodies  []string
	regions []string       // that the requests were signed for
	fail    map[int]string // error code by the number of the call, counted from 0
}

// clientsAt makes clients of a region, which get the answers of respond: XML of EC2, or
// JSON of the Price List.
func clientsAt(t *testing.T, inRegion string, respond func(body string) string) (*endpoint, *aws.Clients) {
	t.Helper()
	e := &endpoint{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		if parts := strings.Split(scope, "/"); len(parts) > 2 {
			e.regions = append(e.regions, parts[2])
		}
		e.bodies = append(e.bodies, string(raw))
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		switch code := e.fail[len(e.bodies)-1]; {
		case code == "":
			fmt.Fprint(w, respond(string(raw)))
		case r.Header.Get("X-Amz-Target") != "":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `<Response><Errors><Error><Code>%s</Code><Message>no</Message></Error></Errors></Response>`, code)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	c, err := aws.New(t.Context(), aws.Config{Region: inRegion, Endpoints: map[string]string{"ec2": server.URL, "pricing": server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return e, c
}

// record is one price of EC2's history, so many minutes after an hour.
func record(instanceType, zone, product, price string, minute int) string {
	return fmt.Sprintf(`<item><instanceType>%s</instanceType><availabilityZone>%s</availabilityZone><productDescription>%s</productDescription><spotPrice>%s</spotPrice><timestamp>2026-03-04T05:%02d:00.000Z</timestamp></item>`,
		instanceType, zone, product, price, minute)
}

func history(next string, records ...string) string {
	return "<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>" + strings.Join(records, "") + "</spotPriceHistorySet><nextToken>" + next + "</nextToken></DescribeSpotPriceHistoryResponse>"
}

type spotPrices = map[string]map[string]quantity.Money

const (
	classic = "Linux/UNIX"
	vpc     = "Linux/UNIX (Amazon VPC)"
)

func TestSpotPrices_TheNewestOfEachListCountsAndThenTheHigher(t *testing.T) {
	e, c := clientsAt(t, region, func(string) string {
		return history("",
			record("m5.large", "us-west-2a", vpc, "0.0300", 10), record("m5.large", "us-west-2a", vpc, "0.0500", 5), // dearer, but older
			record("m5.large", "us-west-2a", classic, "0.0310", 1), // in force, as no newer one is in its list
			record("m5.large", "us-west-2b", classic, "0.0400", 1), record("m5.large", "us-west-2b", classic, "0.0200", 2),
			record("c5.large", "us-west-2a", vpc, "1.1234567", 0), record("c5.large", "us-west-2a", vpc, "1.2", 0))
	})
	since := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	want := spotPrices{"m5.large": {"us-west-2a": 31_000_000, "us-west-2b": 20_000_000}, "c5.large": {"us-west-2a": 1_200_000_000}}
	if diff := cmp.Diff(want, try[spotPrices](t)(c.SpotPrices(t.Context(), since))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked, err := url.ParseQuery(e.bodies[0])
	if err != nil || asked.Get("StartTime") != "2026-03-04T05:00:00Z" || asked.Get("MaxResults") != "1000" ||
		asked.Get("ProductDescription.1") != classic || asked.Get("ProductDescription.2") != vpc || asked.Has("ProductDescription.3") {
		t.Errorf("asked %v, %v", asked, err)
	}
}

func TestSpotPrices_ARecordThatCannotBeReadCostsNoOther(t *testing.T) {
	good := record("m5.large", "us-west-2a", vpc, "0.03", 10)
	for odd, named := range map[string]string{
		record("m5.xlarge", "us-west-2b", vpc, "NaN", 10):     `spot price of m5.xlarge in us-west-2b: money parse: "NaN"`,
		record("m5.xlarge", "us-west-2b", vpc, "-1", 10):      `spot price of m5.xlarge in us-west-2b: money parse: "-1"`,
		record("m5.xlarge", "us-west-2b", vpc, "0.0000", 10):  `spot price of m5.xlarge in us-west-2b: is zero`,
		record("m5.xlarge", "", vpc, "0.1", 10):               `spot price "0.1" has instance type "m5.xlarge" and zone ""`,
		`<item><instanceType>m5.xlarge</instanceType></item>`: `spot price "" has instance type "m5.xlarge" and zone ""`,
	} {
		_, c := clientsAt(t, region, func(string) string { return history("", odd, good, odd) })
		got, err := c.SpotPrices(t.Context(), time.Now())
		var unread *aws.UnreadError
		if !errors.As(err, &unread) || !errors.Is(err, aws.ErrUnread) || unread.Count != 2 || !strings.HasPrefix(unread.First.Error(), named) {
			t.Errorf("%s: %v", named, err)
		} else if text := "spot prices list: entries were left out that cannot be read (2); the first: " + named; !strings.HasPrefix(err.Error(), text) {
			t.Errorf("error %q, want %q", err, text)
		}
		if diff := cmp.Diff(spotPrices{"m5.large": {"us-west-2a": 30_000_000}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", named, diff)
		}
	}
}

func TestSpotPrices_AThrottleBetweenTwoPagesLosesNothing(t *testing.T) {
	e, c := clientsAt(t, region, func(body string) string {
		switch asked, _ := url.ParseQuery(body); asked.Get("NextToken") {
		case "":
			return history("two", record("m5.large", "us-west-2a", vpc, "0.03", 10))
		case "two":
			return history("three") // EC2 has empty pages
		}
		return history("", record("c5.large", "us-west-2b", vpc, "0.02", 10))
	})
	e.fail = map[int]string{1: "RequestLimitExceeded"}
	want := spotPrices{"m5.large": {"us-west-2a": 30_000_000}, "c5.large": {"us-west-2b": 20_000_000}}
	if diff := cmp.Diff(want, try[spotPrices](t)(c.SpotPrices(t.Context(), time.Now()))); diff != "" || len(e.bodies) != 4 {
		t.Errorf("%d calls (-want +got):\n%s", len(e.bodies), diff)
	}
}

func TestSpotPrices_AHalfOfTheAnswerIsNone(t *testing.T) {
	e, c := clientsAt(t, region, func(string) string { return history("two", record("m5.large", "us-west-2a", vpc, "0.03", 10)) })
	e.fail = map[int]string{1: "UnauthorizedOperation"}
	if got, err := c.SpotPrices(t.Context(), time.Now()); !errors.Is(err, aws.ErrUnauthorized) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// productOf is an element of the Price List with prices an hour, each in a term of its own.
func productOf(instanceType, currency string, prices ...string) string {
	terms := map[string]any{}
	for i, price := range prices {
		terms[fmt.Sprint("term", i)] = map[string]any{"priceDimensions": map[string]any{"d": map[string]any{"unit": "Hrs", "pricePerUnit": map[string]string{currency: price}}}}
	}
	raw, _ := json.Marshal(map[string]any{
		"product": map[string]any{"sku": "SKU1", "attributes": map[string]string{"instanceType": instanceType}},
		"terms":   map[string]any{"OnDemand": terms, "Reserved": map[string]any{"r": map[string]any{}}},
	})
	return string(raw)
}

// listOf answers one question with products, and the other with none.
func listOf(tenancy string, list ...string) func(string) string {
	return func(body string) string {
		answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": []string{}}
		if strings.Contains(body, `"Value":"`+tenancy+`"`) {
			answer["PriceList"] = list
		}
		raw, _ := json.Marshal(answer)
		return string(raw)
	}
}

type onDemandPrices = map[string]quantity.Money

func TestOnDemandPrices_TheLowestAboveZeroOfATypeCounts(t *testing.T) {
	_, c := clientsAt(t, region, listOf("Shared",
		productOf("m5.large", "USD", "0.0960000000"), productOf("m5.large", "USD", "0.0910000000", "0.0920000000"), productOf("m5.large", "USD", "0.0000000000"),
		productOf("p5.48xlarge", "USD", "0.0000000000")))
	got := try[onDemandPrices](t)(c.OnDemandPrices(t.Context()))
	if diff := cmp.Diff(onDemandPrices{"m5.large": 91_000_000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnDemandPrices_AProductWithoutPriceIsNamedAndCostsNoOther(t *testing.T) {
	for odd, named := range map[string]string{
		productOf("m5.xlarge", "CNY", "1.3"):   "on-demand price of m5.xlarge: the Price List has none in USD",
		productOf("m5.xlarge", "USD"):          "on-demand price of m5.xlarge: the Price List has none",
		productOf("m5.xlarge", "USD", "cheap"): `on-demand price of m5.xlarge: money parse: "cheap"`,
		productOf("", "USD", "1.3"):            "product SKU1 of the Price List has no instance type",
		`{"product":`:                          `product of the Price List of instance type "": unexpected end of JSON input`,
		strings.ReplaceAll(productOf("m5.xlarge", "USD", "1.3"), `"1.3"`, "1.3"): `product of the Price List of instance type "m5.xlarge": json: cannot unmarshal number`,
	} {
		_, c := clientsAt(t, region, listOf("Shared", odd, productOf("m5.large", "USD", "0.096")))
		got, err := c.OnDemandPrices(t.Context())
		var unread *aws.UnreadError
		if !errors.As(err, &unread) || unread.Count != 1 || !strings.HasPrefix(unread.First.Error(), named) {
			t.Errorf("%s: %v", named, err)
		}
		if diff := cmp.Diff(onDemandPrices{"m5.large": 96_000_000}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", named, diff)
		}
	}
}

func TestOnDemandPrices_APageThatIsThrottledIsAskedAgain(t *testing.T) {
	page := func(next string, list ...string) string {
		raw, _ := json.Marshal(map[string]any{"PriceList": list, "NextToken": next})
		return string(raw)
	}
	e, c := clientsAt(t, region, func(body string) string {
		switch {
		case strings.Contains(body, "Dedicated"):
			return page("", productOf("m5.metal", "USD", "4.6"))
		case strings.Contains(body, `"NextToken":"two"`):
			return page("", productOf("m5.xlarge", "USD", "0.2"))
		}
		return page("two", productOf("m5.large", "USD", "0.1"))
	})
	e.fail = map[int]string{1: "ThrottlingException"}
	want := onDemandPrices{"m5.large": 100_000_000, "m5.xlarge": 200_000_000, "m5.metal": 4_600_000_000}
	if diff := cmp.Diff(want, try[onDemandPrices](t)(c.OnDemandPrices(t.Context()))); diff != "" || len(e.bodies) != 4 {
		t.Errorf("%d calls (-want +got):\n%s", len(e.bodies), diff)
	}
}

func TestOnDemandPrices_AreAskedWhereThePriceListIsInItsCurrency(t *testing.T) {
	for of, want := range map[string]struct{ at, currency string }{
		"us-west-2": {"us-east-1", "USD"}, "sa-east-1": {"us-east-1", "USD"}, "me-south-1": {"us-east-1", "USD"}, "eu-west-1": {"eu-central-1", "USD"},
		"ap-northeast-2": {"ap-south-1", "USD"}, "cn-north-1": {"cn-northwest-1", "CNY"}, "eusc-de-east-1": {"eusc-de-east-1", "EUR"},
		"us-iso-west-1": {"us-iso-east-1", "USD"}, "us-isob-east-1": {"us-isob-east-1", "USD"}, "eu-isoe-west-1": {"eu-isoe-west-1", "USD"}, "us-isof-east-1": {"us-isof-south-1", "USD"},
	} {
		e, c := clientsAt(t, of, listOf("Shared", productOf("m5.large", want.currency, "0.096")))
		if got := aws.Currency(of); got != want.currency {
			t.Errorf("%s: the currency is %s, want %s", of, got, want.currency)
		}
		got := try[onDemandPrices](t)(c.OnDemandPrices(t.Context()))
		if !slices.Equal(e.regions, []string{want.at, want.at}) || got["m5.large"] != 96_000_000 {
			t.Errorf("%s: asked in %v, got %v", of, e.regions, got)
		}
		for _, body := range e.bodies {
			if !strings.Contains(body, `"Value":"`+of+`"`) {
				t.Errorf("%s: asked %s", of, body)
			}
		}
	}
}

func TestOnDemandPrices_ARegionWithoutPriceListIsToldWithoutACall(t *testing.T) {
	e, c := clientsAt(t, "us-gov-west-1", listOf("Shared"))
	got, err := c.OnDemandPrices(t.Context())
	if !errors.Is(err, aws.ErrNoPriceList) || got != nil || len(e.bodies) > 0 || err.Error() != "on-demand prices get: region us-gov-west-1: the Price List has no endpoint for the region" {
		t.Errorf("%v, %v after %d calls", got, err, len(e.bodies))
	}
}

// A list that has nothing, or bare metal alone, is not the region's.
func TestOnDemandPrices_AnEmptyListIsAnError(t *testing.T) {
	_, c := clientsAt(t, region, listOf("Dedicated", productOf("m5.metal", "USD", "4.6")))
	if got, err := c.OnDemandPrices(t.Context()); !errors.Is(err, aws.ErrNotFound) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestInstanceTypes_WhatRunsNoLinuxNodeOrIsHalfDescribedIsLeftOut(t *testing.T) {
	const (
		memory    = `<memoryInfo><sizeInMiB>1024</sizeInMiB></memoryInfo>`
		cpus      = `<vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo>`
		network   = `<networkInfo><networkPerformance>High</networkPerformance><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface><networkCards><item><baselineBandwidthInGbps>0.5</baselineBandwidthInGbps><maximumNetworkInterfaces>3</maximumNetworkInterfaces></item></networkCards></networkInfo>`
		hvm       = `<supportedVirtualizationTypes><item>hvm</item></supportedVirtualizationTypes>`
		processor = `<processorInfo><supportedArchitectures><item>i386</item><item>x86_64</item></supportedArchitectures></processorInfo>`
	)
	var items string
	for name, parts := range map[string][]string{
		"a1.good": {memory, cpus, network, hvm, processor}, "a1.paravirtual": {memory, cpus, network, processor},
		"a1.mac":      {memory, cpus, network, hvm, strings.ReplaceAll(processor, "x86_64", "x86_64_mac")},
		"a1.nomemory": {cpus, network, hvm, processor}, "a1.nocpus": {memory, network, hvm, processor},
		"a1.nonetwork": {memory, cpus, hvm, processor}, "a1.noprocessor": {memory, cpus, network, hvm},
		"a1.zero": {strings.ReplaceAll(memory, "1024", "0"), cpus, network, hvm, processor}, "a1.addressless": {memory, cpus, strings.ReplaceAll(network, ">10<", ">0<"), hvm, processor},
	} {
		items += "<item><instanceType>" + name + "</instanceType>" + strings.Join(parts, "") + "</item>"
	}
	e, c := clientsAt(t, region, func(string) string {
		return "<DescribeInstanceTypesResponse><instanceTypeSet>" + items + "</instanceTypeSet></DescribeInstanceTypesResponse>"
	})
	want := []catalog.Fact{{Name: "a1.good", Arch: "amd64", VCPU: 2, MemoryMiB: 1024, ENIs: 3, IPv4PerENI: 10, NameParts: catalog.ParseName("a1.good")}} // "High" is no bandwidth
	if diff := cmp.Diff(want, try[[]catalog.Fact](t)(c.InstanceTypes(t.Context()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked, err := url.ParseQuery(e.bodies[0])
	if err != nil || asked.Get("MaxResults") != "100" || asked.Get("Filter.1.Value.1") != "hvm" || asked.Get("Filter.2.Value.2") != "arm64" || asked.Has("Filter.3.Name") {
		t.Errorf("asked %v, %v", asked, err)
	}
}
