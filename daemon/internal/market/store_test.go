package market

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func (r *region) stored() *corev1.ConfigMap {
	r.t.Helper()
	m, err := r.kube.CoreV1().ConfigMaps("karpenter").Get(r.t.Context(), install.CatalogueName, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *region) store(data []byte) {
	r.t.Helper()
	m := r.stored()
	m.BinaryData = map[string][]byte{storeKey: data}
	if _, err := r.kube.CoreV1().ConfigMaps("karpenter").Update(r.t.Context(), m, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStore_WhatCannotBeReadIsAskedForAnewAndReplaced(t *testing.T) {
	good, err := json.Marshal(kept{
		Format: storeFormat, Region: "us-west-2", Answered: map[string]time.Time{groupOnDemand: time.Unix(1, 0)},
		Live: catalog.Live{OnDemand: map[string]quantity.Money{"m5.large": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"no gzip":         []byte("hello"),
		"cut short":       zipped(t, string(good))[:20],
		"no JSON":         zipped(t, "{"),
		"another region":  zipped(t, strings.Replace(string(good), "us-west-2", "eu-west-1", 1)),
		"another format":  zipped(t, strings.Replace(string(good), `"Format":1`, `"Format":2`, 1)),
		"unknown member":  zipped(t, strings.Replace(string(good), `"Region"`, `"Colour":1,"Region"`, 1)),
		"wrong type":      zipped(t, strings.Replace(string(good), `"m5.large":1`, `"m5.large":"1"`, 1)),
		"broken checksum": append(bytes.Clone(zipped(t, string(good)))[:len(zipped(t, string(good)))-8], 0, 0, 0, 0, 0, 0, 0, 0),
		"no date":         zipped(t, strings.Replace(string(good), groupOnDemand, "other", 1)),
		"no entries":      zipped(t, strings.Replace(string(good), `"m5.large":1`, "", 1)),
		"nothing":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegion(t)
			r.store(data)
			k := r.keeper()
			k.Begin(t.Context(), time.Minute)
			r.want("after the start", 90, 30)
			r.after(k, Every)
			if now, err := decode(r.stored().BinaryData[storeKey]); err != nil || now.Live.OnDemand["m5.large"] != 90 {
				t.Errorf("kept %+v, %v", now, err)
			}
		})
	}
}

func TestStore_AnswersAreKeptEveryHalfHourAtMostAndTriedAgainThen(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	first := r.stored().BinaryData[storeKey]
	r.spot["m5.large"] = map[string]quantity.Money{"us-west-2a": 44}
	r.after(k, 20*time.Minute)
	if !bytes.Equal(first, r.stored().BinaryData[storeKey]) {
		t.Error("kept again after 20 minutes")
	}
	k.Store = Store{broken{}}
	r.now = r.now.Add(10 * time.Minute)
	if err := k.Sweep(t.Context(), r.now); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `configmap "karpenterd-catalogue" write`) {
		t.Errorf("error %v", err)
	}
	r.after(k, 20*time.Minute) // silent: it is not time
	k.Store = Store{r.kube.CoreV1().ConfigMaps("karpenter")}
	r.after(k, 10*time.Minute)
	if now, err := decode(r.stored().BinaryData[storeKey]); err != nil || now.Live.Spot["m5.large"]["us-west-2a"] != 44 {
		t.Errorf("kept %+v, %v", now, err)
	}
}

// The clock of the daemon before may have run ahead.
func TestStore_AnAnswerFromTheFutureIsOneOfNow(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	r.now = r.now.Add(-24 * time.Hour)
	for _, g := range groups() {
		r.fails[g] = errors.New("no route")
	}
	next := r.keeper()
	next.Begin(t.Context(), time.Minute)
	r.after(next, 0)
	r.after(next, 20*time.Minute)
	if s := next.State(); s.Reason != awsv1.ReasonOutdated {
		t.Errorf("state %+v 20 minutes after the last answer", s)
	}
}

// A whole region with noise in its prices is a small part of what a ConfigMap may have.
func TestStore_ALargeRegionFitsIntoAConfigMap(t *testing.T) {
	facts, m, err := embedded.Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.New(rand.NewPCG(1, 2))
	live := catalog.Live{Types: facts, Zones: map[string][]string{}, OnDemand: m.OnDemand, Spot: map[string]map[string]quantity.Money{}}
	for name, zones := range m.Offered {
		live.Spot[name] = map[string]quantity.Money{}
		for _, z := range zones {
			live.Zones[name] = append(live.Zones[name], m.Zones[z].Name)
			live.Spot[name][m.Zones[z].Name] = quantity.Money(noise.Int64N(10_000_000) * 100) // EC2 has seven digits
		}
	}
	packed, err := encode(kept{Format: storeFormat, Region: "us-east-1", Live: live}, storeMost)
	if err != nil || len(packed) > storeMost/4 {
		t.Fatalf("%d bytes, %v", len(packed), err)
	}
	back, err := decode(packed)
	if err != nil || fmt.Sprint(back.Live) != fmt.Sprint(live) {
		t.Errorf("read back something else, %v", err)
	}
}

func TestStore_WhatIsTooLargeIsNotWritten(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	live := catalog.Live{OnDemand: map[string]quantity.Money{}}
	for range 200_000 {
		live.OnDemand[fmt.Sprintf("%x.large", noise.Uint64())] = 1
	}
	if _, err := encode(kept{Live: live}, storeMost); !errors.Is(err, errTooLarge) {
		t.Errorf("error %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("hello"))
	packed, err := encode(kept{Format: 1, Live: catalog.Live{Zones: map[string][]string{"a": {"b", "b"}}, Spot: map[string]map[string]quantity.Money{"a": nil}}}, storeMost)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(_ *testing.T, data []byte) {
		if k, err := decode(data); err == nil { // whatever it holds must not harm
			k.Live.Over(nil, catalog.Market{Zones: []catalog.Zone{zoneA}, Offered: map[string][]int{"a": {0}}}, []catalog.Zone{zoneA})
		}
	})
}

var errBroken = errors.New("broken")

// broken is an API server that refuses.
type broken struct{}

func (broken) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return nil, errBroken
}

func (broken) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.ConfigMap, error) {
	return nil, errBroken
}

func TestStore_AnAPIServerThatRefusesTheConfigMapHoldsNothingUp(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Store = Store{broken{}}
	k.Begin(t.Context(), time.Minute)
	r.want("after the start", 90, 30)
}

func TestStore_KeepsWhatEKSSaidOfTheClusterBesideTheRest(t *testing.T) {
	r := newRegion(t)
	store, said := Store{r.kube.CoreV1().ConfigMaps("karpenter")}, aws.Cluster{Name: "lab", Endpoint: "https://one", CertificateAuthority: []byte("A"), SubnetIDs: []string{"subnet-1"}}
	if _, err := store.Cluster(t.Context(), "lab"); err == nil {
		t.Error("nothing is kept, and there is no error")
	}
	if err := store.KeepCluster(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Cluster(t.Context(), "lab"); err != nil || !reflect.DeepEqual(got, said) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := store.Cluster(t.Context(), "another"); !errors.Is(err, errForeign) {
		t.Errorf("of another cluster: %v", err)
	}
}
