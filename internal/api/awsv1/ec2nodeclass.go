package awsv1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// EC2NodeClass is the EC2 part of a node's configuration.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`,priority=1
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec EC2NodeClassSpec `json:"spec,omitempty"`
	// +optional
	Status EC2NodeClassStatus `json:"status,omitempty"`

	// Unread says which fields of the object could not be read, and are left out.
	Unread v1.Unread `json:"-"`
}

// SetUnread notes which fields could not be read.
func (c *EC2NodeClass) SetUnread(u v1.Unread) { c.Unread = u }

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec is the wanted configuration of instances.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.instanceProfile)",message="a class has either instanceProfile or role: set one and remove the other"
// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",message="without an alias in amiSelectorTerms the image family is not known: set amiFamily"
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.split('@')[0] == self.amiFamily.lowerAscii())",message="the alias in amiSelectorTerms is of another image family than amiFamily: remove amiFamily, or set it to Custom"
type EC2NodeClassSpec struct {
	// SubnetSelectorTerms select the subnets of the instances; a subnet that one term selects is selected.
	//
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="no subnet is selected: add a term"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.tags) || has(t.id))",message="every term needs tags or id"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(t, !has(t.id) || !has(t.tags))",message="a term has id or tags, not both: write two terms"
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`
	// SecurityGroupSelectorTerms select the security groups; all that are selected are attached.
	//
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="no security group is selected: add a term"
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.tags) || has(t.id) || has(t.name))",message="every term needs tags, id or name"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(t, !has(t.id) || !has(t.tags) && !has(t.name))",message="a term with id has nothing else: write a term for each"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(t, !has(t.name) || !has(t.tags) && !has(t.id))",message="a term with name has nothing else: write a term for each"
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms"`
	// CapacityReservationSelectorTerms select capacity reservations, which come before
	// other capacity; a reservation that one term selects is selected. Nodes in one have
	// the capacity type reserved.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.tags) || has(t.id) || has(t.instanceMatchCriteria))",message="every term needs tags, id or instanceMatchCriteria"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(t, !has(t.id) || !has(t.tags) && !has(t.ownerID) && !has(t.instanceMatchCriteria))",message="a term with id has nothing else: write two terms"
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`
	// AMISelectorTerms select images: one term with an alias selects those that EKS
	// publishes; other terms select any, of which the newest of each architecture is used
	// that is not deprecated.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.all(t, has(t.alias) || has(t.id) || has(t.name) || has(t.tags) || has(t.ssmParameter))",message="every term needs alias, id, name, tags or ssmParameter"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.id) || !has(t.alias) && !has(t.tags) && !has(t.name) && !has(t.owner))",message="a term with id has no alias, tags, name or owner: write two terms"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.alias) || !has(t.id) && !has(t.tags) && !has(t.name) && !has(t.owner))",message="a term with alias has no id, tags, name or owner: remove them"
	// +kubebuilder:validation:XValidation:rule="size(self) == 1 || !self.exists(t, has(t.alias))",message="a term with alias is the only one: remove the other terms"
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms"`
	// AMIFamily says how instances join the cluster: which user data they read, and which
	// volumes they have. It follows from the alias of amiSelectorTerms. With Custom, the
	// user data is all that an instance gets, and it must register the node with the taint
	// karpenter.sh/unregistered:NoExecute. A class with a family of Windows is not ready.
	//
	// +optional
	// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
	AMIFamily string `json:"amiFamily,omitempty"`
	// InstanceProfile names the instance profile that gives the instances their role.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// Role is the IAM role of the instances: its name, or its ARN. The daemon makes an
	// instance profile with the role, and deletes the profile when no instance needs it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	Role string `json:"role,omitempty"`
	// Tags of the instances, volumes, network interfaces and launch templates. EC2
	// takes 50 tags for a resource; the daemon adds up to 10 of its own.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="a tag's key must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster') && !(k in ['eks:eks-cluster-name', 'karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass']))",message="tags kubernetes.io/cluster*, eks:eks-cluster-name, karpenter.sh/nodepool, karpenter.sh/nodeclaim and karpenter.k8s.aws/ec2nodeclass are set by the daemon: remove the tag"
	Tags map[string]string `json:"tags,omitempty"`
	// MetadataOptions of the instance metadata service.
	//
	// +optional
	// +kubebuilder:default={httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required}
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// BlockDeviceMappings of the instances. Without it: /dev/xvda, 20Gi, gp3, encrypted; with
	// Bottlerocket /dev/xvda of 4Gi and /dev/xvdb of 20Gi, which has the files of pods; with
	// Custom those of the image.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1",message="at most one mapping can have rootVolume true"
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// UserData of the user, a shell script, NodeConfig or MIME multipart text; it runs
	// before what the daemon generates, and what the daemon generates wins.
	//
	// +optional
	UserData *string `json:"userData,omitempty"`
	// DetailedMonitoring turns on CloudWatch metrics at one-minute intervals.
	//
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// AssociatePublicIPAddress overrides the subnets' setting.
	//
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// Kubelet configures the kubelet. It takes every field of the kubelet's own configuration,
	// kubelet.config.k8s.io/v1beta1. maxPods, and the values of kubeReserved and
	// systemReserved, may be CEL expressions, which are evaluated for each instance type.
	// A field or a value that no kubelet takes keeps the class from being ready.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// InstanceStorePolicy RAID0 joins the instance store volumes of an instance to one file
	// system, which has the ephemeral storage of its pods. Instances without such volumes
	// have it on the root volume.
	//
	// +optional
	// +kubebuilder:validation:Enum=RAID0
	InstanceStorePolicy *string `json:"instanceStorePolicy,omitempty"`
	// Context is handed to EC2 with each launch, for accounts that were given one.
	//
	// +optional
	Context *string `json:"context,omitempty"`

	UnsupportedSpec `json:",inline"`
}

// SubnetSelectorTerm selects subnets by all of its tags, or by id.
type SubnetSelectorTerm struct {
	// Tags that a subnet must have, all of them; the value * stands for any.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag's key and value must not be empty"
	Tags map[string]string `json:"tags,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`subnet-[0-9a-z]+`
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups by all of its tags, by id or by name.
type SecurityGroupSelectorTerm struct {
	// Tags that a group must have, all of them; the value * stands for any.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag's key and value must not be empty"
	Tags map[string]string `json:"tags,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`sg-[0-9a-z]+`
	ID string `json:"id,omitempty"`
	// Name is the group's name, not its Name tag.
	//
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations by id, or by all else
// that it has.
type CapacityReservationSelectorTerm struct {
	// Tags that a reservation must have, all of them; the value * stands for any.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag's key and value must not be empty"
	Tags map[string]string `json:"tags,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	ID string `json:"id,omitempty"`
	// OwnerID is the account that owns the reservation.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	OwnerID string `json:"ownerID,omitempty"`
	// InstanceMatchCriteria of the reservation.
	//
	// +optional
	// +kubebuilder:validation:Enum=open;targeted
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// AMISelectorTerm selects images.
type AMISelectorTerm struct {
	// Alias is a family of images and a release: al2023@latest or al2023@v20260115,
	// bottlerocket@latest or bottlerocket@v1.49.0, al2@latest or al2@v20241024. EKS has no
	// images of al2 from Kubernetes 1.33 on. A class with an alias of Windows is not ready.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]+@.+$')",message="an alias is a family and a version with @ between them, such as al2023@latest"
	// +kubebuilder:validation:XValidation:rule="self.split('@')[0] in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",message="no such image family: write al2023, as in al2023@latest"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('windows') || self.split('@')[1] == 'latest'",message="images of Windows have no version but latest: write @latest"
	Alias string `json:"alias,omitempty"`
	// Tags that an image must have.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag's key and value must not be empty"
	Tags map[string]string `json:"tags,omitempty"`
	// ID of an image.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`ami-[0-9a-z]+`
	ID string `json:"id,omitempty"`
	// Name of an image; it may have the wildcards * and ?. Without an owner it is searched
	// among the images of the account and of Amazon.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// Owner is the account that owns the image, or self, amazon or aws-marketplace.
	//
	// +optional
	Owner string `json:"owner,omitempty"`
	// SSMParameter is the name or ARN of a parameter that has the id of an image. The role of
	// the daemon may read those below /aws/service/; another one needs a policy of your own.
	//
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}

// MetadataOptions of the instance metadata service.
type MetadataOptions struct {
	// +optional
	// +kubebuilder:default=enabled
	// +kubebuilder:validation:Enum=enabled;disabled
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// +optional
	// +kubebuilder:default=disabled
	// +kubebuilder:validation:Enum=enabled;disabled
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// HTTPPutResponseHopLimit is 2 where pods outside the host network read the metadata service.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// HTTPTokens required means IMDSv2 only.
	//
	// +optional
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum=required;optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// BlockDeviceMapping is a volume of the instances.
type BlockDeviceMapping struct {
	// DeviceName such as /dev/xvda.
	//
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// RootVolume marks the volume that holds the kubelet's ephemeral storage.
	//
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
}

// BlockDevice is an EBS volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.volumeSize) || has(self.snapshotID)",message="the volume has no size: set volumeSize or snapshotID"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || (has(self.snapshotID) && size(self.snapshotID) > 0)",message="volumeInitializationRate is for volumes from a snapshot: set snapshotID, or remove it"
type BlockDevice struct {
	// VolumeSize is 1Gi to 59000Gi, 1G to 64000G, 1Ti to 58Ti or 1T to 64T, rounded up to GiB.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$`
	VolumeSize resource.Quantity `json:"volumeSize,omitzero"`
	// +optional
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;sc1;st1;gp3
	VolumeType *string `json:"volumeType,omitempty"`
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// IOPS of io1, io2 and gp3 volumes.
	//
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// Throughput of gp3 volumes in MiB/s.
	//
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// KMSKeyID is a key's id, alias or ARN.
	//
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// SnapshotID is the snapshot that the volume is made of.
	//
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// VolumeInitializationRate is how fast the snapshot is read, in MiB/s.
	//
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
}
