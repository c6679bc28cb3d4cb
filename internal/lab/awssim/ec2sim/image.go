package ec2sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// amazonImages is the account that publishes the EKS optimized images.
const amazonImages = "602401143452"

// Image is a machine image for SeedImage.
type Image struct {
	ID          string // empty: one is made
	Name        string
	Description string
	Arch        string // x86_64 or arm64 (amd64 is taken as x86_64)
	OwnerID     string // empty: the account that publishes EKS's images
	OwnerAlias  string // empty: amazon, where OwnerID is empty
	Created     time.Time
	Deprecated  time.Time // zero: never
	RootDevice  string    // empty: /dev/xvda
	RootGiB     int64     // 0: 20
	DataDevice  string    // of a second volume, of 20 GiB, for what runs there; empty: there is none
	Platform    string    // windows, or empty
	Tags        map[string]string
}

type image struct {
	*resource
	Image
}

// SeedImage adds an available image and returns its id.
func (s *Service) SeedImage(in Image) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Arch == "amd64" {
		in.Arch = "x86_64"
	}
	if in.OwnerID == "" {
		in.OwnerID, in.OwnerAlias = amazonImages, "amazon"
	}
	in.RootDevice, in.RootGiB = cmp.Or(in.RootDevice, "/dev/xvda"), cmp.Or(in.RootGiB, 20)
	if in.Created.IsZero() {
		in.Created = s.cfg.Now()
	}
	r := s.newResource(kindImage, "ami", in.Tags)
	if in.ID != "" {
		delete(s.resources, r.id)
		r.id = in.ID
		s.resources[r.id] = r
	}
	in.ID = r.id
	s.images[r.id] = &image{r, in}
	return r.id
}

type imageItem struct {
	Arch           string           `xml:"architecture" filter:"architecture"`
	Devices        set[imageDevice] `xml:"blockDeviceMapping"`
	BootMode       string           `xml:"bootMode"`
	Created        string           `xml:"creationDate" filter:"creation-date"`
	Deprecated     string           `xml:"deprecationTime,omitempty"`
	Description    string           `xml:"description,omitempty" filter:"description"`
	ENASupport     bool             `xml:"enaSupport" filter:"ena-support"`
	Hypervisor     string           `xml:"hypervisor" filter:"hypervisor"`
	ID             string           `xml:"imageId" filter:"image-id"`
	Location       string           `xml:"imageLocation"`
	OwnerAlias     string           `xml:"imageOwnerAlias,omitempty" filter:"owner-alias"`
	Type           string           `xml:"imageType" filter:"image-type"`
	Name           string           `xml:"name" filter:"name"`
	OwnerID        string           `xml:"imageOwnerId" filter:"owner-id"`
	Platform       string           `xml:"platform,omitempty" filter:"platform"`
	Details        string           `xml:"platformDetails"`
	Public         bool             `xml:"isPublic" filter:"is-public"`
	RootDevice     string           `xml:"rootDeviceName" filter:"root-device-name"`
	RootType       string           `xml:"rootDeviceType" filter:"root-device-type"`
	State          string           `xml:"imageState" filter:"state"`
	Tags           set[tag]         `xml:"tagSet" filter:""`
	Virtualization string           `xml:"virtualizationType" filter:"virtualization-type"`
}

type imageDevice struct {
	Name string   `xml:"deviceName"`
	EBS  imageEBS `xml:"ebs"`
}

type imageEBS struct {
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
	Encrypted           bool   `xml:"encrypted"`
	SizeGiB             int64  `xml:"volumeSize"`
	Type                string `xml:"volumeType"`
}

type describeImagesRequest struct {
	listing
	IDs               []string `q:"ImageId"`
	Owners            []string `q:"Owner"`
	IncludeDeprecated bool     `q:"IncludeDeprecated"`
}

func checkImageIDs(ids ...string) error {
	for _, id := range ids {
		if !strings.HasPrefix(id, "ami-") {
			return wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
		}
	}
	return nil
}

func describeImages(c *call, in *describeImagesRequest) (any, error) {
	if err := checkImageIDs(in.IDs...); err != nil {
		return nil, err
	}
	found, err := pick(in.IDs, c.s.images, notFound)
	if err != nil {
		return nil, err
	}
	now := c.s.cfg.Now()
	found = slices.DeleteFunc(found, func(i *image) bool {
		// Deprecated images are left out for all but their owner, unless asked for by id.
		hidden := !in.IncludeDeprecated && len(in.IDs) == 0 && i.deprecated(now) && i.OwnerID != c.s.cfg.Account
		return hidden || !i.ownedBy(in.Owners, c.s.cfg.Account)
	})
	return list[*image, imageItem]{set: "imagesSet", item: (*Service).imageItem, minPage: 1, maxPage: 1000}.page(c, in.listing, found)
}

func (i *image) deprecated(now time.Time) bool {
	return !i.Deprecated.IsZero() && !i.Deprecated.After(now)
}

// ownedBy compares with account ids, self and aliases; no owner means any.
func (i *image) ownedBy(owners []string, self string) bool {
	if len(owners) == 0 {
		return true
	}
	return slices.ContainsFunc(owners, func(owner string) bool {
		return owner == i.OwnerID || owner == i.OwnerAlias && owner != "" || owner == "self" && i.OwnerID == self
	})
}

func (i *image) details() string {
	if i.Platform == "windows" {
		return "Windows"
	}
	return "Linux/UNIX"
}

func (s *Service) imageItem(i *image) imageItem {
	out := imageItem{
		Arch: i.Arch, BootMode: "uefi-preferred", Created: stamp(i.Created), Description: i.Description,
		ENASupport: true, Hypervisor: "xen", ID: i.ID, Location: strings.TrimPrefix(i.OwnerAlias+"/"+i.Name, "/"),
		OwnerAlias: i.OwnerAlias, Type: "machine", Name: i.Name, OwnerID: i.OwnerID, Platform: i.Platform,
		Details: i.details(), Public: true, RootDevice: i.RootDevice, RootType: "ebs", State: "available",
		Tags: i.tagSet(), Virtualization: "hvm",
		Devices: set[imageDevice]{{i.RootDevice, imageEBS{DeleteOnTermination: true, SizeGiB: i.RootGiB, Type: "gp3"}}},
	}
	if i.Arch == "arm64" {
		out.BootMode = "uefi"
	}
	if !i.Deprecated.IsZero() {
		out.Deprecated = stamp(i.Deprecated)
	}
	return out
}
