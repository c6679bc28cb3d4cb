package family

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// BlockDevices are the volumes that an instance of the class is launched with: those that
// the class maps, or else those of its family.
func BlockDevices(class *awsv1.EC2NodeClass) []awsspec.BlockDevice {
	if len(class.Spec.BlockDeviceMappings) == 0 {
		return Of(class).Volumes()
	}
	var out []awsspec.BlockDevice
	for _, m := range class.Spec.BlockDeviceMappings {
		d := awsspec.BlockDevice{DeviceName: value(m.DeviceName)}
		if e := m.EBS; e != nil {
			d.SizeGiB = (e.VolumeSize.Value() + 1<<30 - 1) >> 30 // never smaller than in the spec
			d.Type, d.KMSKeyID, d.SnapshotID = value(e.VolumeType), value(e.KMSKeyID), value(e.SnapshotID)
			d.Encrypted, d.DeleteOnTermination = e.Encrypted, e.DeleteOnTermination
			d.IOPS, d.ThroughputMiBps = e.IOPS, e.Throughput
			if rate := e.VolumeInitializationRate; rate != nil {
				d.InitializationMiBps = new(int64)
				*d.InitializationMiBps = int64(*rate)
			}
		}
		out = append(out, d)
	}
	return out
}

// rootVolume is the volume of an instance whose class maps none.
func rootVolume(device string, gib int64) awsspec.BlockDevice {
	encrypted := true
	return awsspec.BlockDevice{DeviceName: device, SizeGiB: gib, Type: catalog.GP3, Encrypted: &encrypted}
}
