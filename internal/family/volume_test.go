package family

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

func TestBlockDevices_HaveTheSnapshotAndItsRate(t *testing.T) {
	device, snapshot, rate := "/dev/xvdb", "snap-1", int32(200)
	mapped := &awsv1.EC2NodeClass{}
	mapped.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: &device, EBS: &awsv1.BlockDevice{SnapshotID: &snapshot, VolumeInitializationRate: &rate}}}
	if got := BlockDevices(mapped)[0]; got.SnapshotID != snapshot || *got.InitializationMiBps != 200 || got.SizeGiB != 0 {
		t.Errorf("%+v", got)
	}
}

func TestBlockDevices_SizesRoundUpToGiB(t *testing.T) {
	root := "/dev/xvda"
	mapped := &awsv1.EC2NodeClass{}
	mapped.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: &root, EBS: &awsv1.BlockDevice{VolumeSize: resource.MustParse("20G")}}}
	got := BlockDevices(mapped)
	if got[0].SizeGiB != 19 {
		t.Errorf("20G = %d GiB, want 19", got[0].SizeGiB)
	}
	if got := BlockDevices(&awsv1.EC2NodeClass{}); len(got) != 1 || got[0].SizeGiB != 20 {
		t.Errorf("default = %+v", got)
	}
}
