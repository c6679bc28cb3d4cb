//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// reservationIsUsedFirst has a reservation of three, of which somebody else takes
// one that EC2 does not tell of: two of four nodes come into it, one is tried and
// comes on demand. When the reservation ends, its nodes run on as on-demand ones.
func reservationIsUsedFirst(t *testing.T, d *daemonLab) {
	const name = "r6i.large"
	tags := map[string]string{"for": "e2e-reserved"}
	id := d.Cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: name, Zone: d.Region + "b", Count: 3, Tags: tags})
	p := pool{name: "reserved", class: "reserved", reserved: true, requirements: map[string][]string{instanceType: {name}}}
	d.apply(t, d.nodeClass(p.class, map[string]any{
		"capacityReservationSelectorTerms": []any{map[string]any{"tags": map[string]any{"for": "*"}}},
	}))
	d.createPool(t, p)
	class, err := d.EC2NodeClasses.Get(t.Context(), p.class, metav1.GetOptions{})
	if err != nil || len(class.Status.CapacityReservations) != 1 || class.Status.CapacityReservations[0].ID != id {
		t.Fatalf("status %+v, %v", class.Status.CapacityReservations, err)
	}
	if err := d.Cloud.EC2.UseReservation(id, 1, 1); err != nil {
		t.Fatal(err)
	}
	d.deploy(t, p, 4)
	d.running(t, p, 4)
	d.oneInstanceEach(t, p)
	if n := d.inReservation(t.Context(), p, id); n != nil {
		t.Error(n)
	}
	if said := d.logs(); !strings.Contains(said, name+" in "+d.Region+"b (reserved): ReservationCapacityExceeded") {
		t.Error("no launch found the reservation full: the test tested nothing")
	}
	if err := d.Cloud.EC2.EndReservation(id); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return d.nobodyReserved(t.Context(), p) }) // the sweep for it leaves young instances alone
	d.running(t, p, 4)
	d.scale(t, p, 0)
	d.empties(t, p)
}

// inReservation wants two of the pool's instances in the reservation, and says of
// NodeClaims and Nodes what it says of their instances.
func (d *daemonLab) inReservation(ctx context.Context, p pool, id string) error {
	count := 0
	for _, i := range d.instances(p) {
		node, err := d.Core.CoreV1().Nodes().Get(ctx, i.PrivateDNSName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		claim, err := d.NodeClaims.Get(ctx, node.OwnerReferences[0].Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		want := map[string]string{label.CapacityType: "on-demand"}
		if i.ReservationID == id {
			count++
			want = map[string]string{
				label.CapacityType: "reserved", label.Reservation: id, label.ReservationType: "default", label.ReservationInterruptible: "false",
			}
		}
		for _, key := range []string{label.CapacityType, label.Reservation, label.ReservationType, label.ReservationInterruptible} {
			if node.Labels[key] != want[key] || claim.Labels[key] != want[key] {
				return fmt.Errorf("label %s is %q on the NodeClaim and %q on the Node, want %q", key, claim.Labels[key], node.Labels[key], want[key])
			}
		}
	}
	if count != 2 {
		return fmt.Errorf("%d instances are in the reservation, want the 2 that it has room for", count)
	}
	return nil
}

func (d *daemonLab) nobodyReserved(ctx context.Context, p pool) error {
	nodes, err := d.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "e2e=" + p.name})
	if err != nil {
		return err
	}
	claims, err := d.NodeClaims.List(ctx, metav1.ListOptions{LabelSelector: "e2e=" + p.name})
	if err != nil {
		return err
	}
	of := map[string]map[string]string{}
	for _, n := range nodes.Items {
		of["node "+n.Name] = n.Labels
	}
	for _, c := range claims.Items {
		of["nodeclaim "+c.Name] = c.Labels
	}
	for name, labels := range of {
		if labels[label.CapacityType] != "on-demand" || labels[label.Reservation] != "" {
			return fmt.Errorf("%s has capacity type %q and reservation %q", name, labels[label.CapacityType], labels[label.Reservation])
		}
	}
	return nil
}
