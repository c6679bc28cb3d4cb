package values

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// Values say how to deploy the daemon. The tag doc is what users read about a field; min is the least
// number.
type Values struct {
	Settings              Settings                      `json:"settings" doc:"What the daemon does."`
	Mode                  string                        `json:"mode" doc:"active: the daemon works for the cluster. shadow: another program does, such as Karpenter, and the daemon says what it would make of the cluster; it has no right to change anything but its own Lease and ConfigMap, and no definitions are installed."`
	LogLevel              string                        `json:"logLevel" doc:"How much the daemon logs."`
	LogKeys               string                        `json:"logKeys" doc:"The keys of the log. karpenter: level, time, logger and message, as Karpenter's log has them. hclog: @level, @timestamp, @module and @message, as Terraform's."`
	ServiceAccount        ServiceAccount                `json:"serviceAccount" doc:"The service account of the pods, which gives them their role in AWS."`
	Controller            Controller                    `json:"controller" doc:"The container of the daemon."`
	ImagePullPolicy       string                        `json:"imagePullPolicy" doc:"When a node pulls the image."`
	ImagePullSecrets      []corev1.LocalObjectReference `json:"imagePullSecrets" doc:"Secrets in the daemon's namespace with which nodes pull the image."`
	Replicas              int32                         `json:"replicas" min:"1" doc:"Number of replicas. One replica leads; the others are on standby, each on a node of its own: a cluster with fewer nodes for them needs a smaller number, or affinity.podAntiAffinity."`
	PriorityClassName     string                        `json:"priorityClassName" doc:"Priority class of the pods; empty for none."`
	NodeSelector          map[string]string             `json:"nodeSelector" doc:"Labels that the nodes of the pods must have. The pods never run on nodes of node pools, which the daemon may delete."`
	Affinity              corev1.Affinity               `json:"affinity,omitzero" doc:"Affinity of the pods. In any case the pods keep off nodes of node pools. podAntiAffinity takes the place of the rule that each node has one replica at most; {} is no rule."`
	Tolerations           []corev1.Toleration           `json:"tolerations" doc:"Taints that the pods tolerate. A list of your own takes the place of this one as a whole."`
	AdditionalLabels      map[string]string             `json:"additionalLabels" doc:"Labels of the pods, and of all objects except the definitions."`
	AdditionalAnnotations map[string]string             `json:"additionalAnnotations" doc:"Annotations of the pods, and of all objects except the definitions."`
	PodLabels             map[string]string             `json:"podLabels" doc:"Labels of the pods alone, beside additionalLabels."`
	PodAnnotations        map[string]string             `json:"podAnnotations" doc:"Annotations of the pods alone, beside additionalAnnotations."`
	PodDisruptionBudget   Budget                        `json:"podDisruptionBudget" doc:"At least one eviction must be allowed, or no node with a replica could be drained."`
	MetricsNamespaces     *[]string                     `json:"metricsNamespaces,omitempty" doc:"Namespaces whose pods may read /metrics, by a NetworkPolicy that lets nothing else in but health probes; [] for none. Without it there is no NetworkPolicy, and pods of all namespaces may. NetworkPolicies add up: one of your own lets others in."`
	Definitions           Definitions                   `json:"definitions" doc:"The custom resource definitions of NodePool, NodeClaim and EC2NodeClass."`
}

// Settings are what the daemon does.
type Settings struct {
	ClusterName       string `json:"clusterName" doc:"Name of the EKS cluster. Required."`
	Region            string `json:"region" doc:"AWS region of the cluster, such as us-west-2. Required."`
	ClusterEndpoint   string `json:"clusterEndpoint" doc:"URL at which nodes reach the API server, such as that of a private endpoint. Empty: the daemon asks EKS."`
	InterruptionQueue string `json:"interruptionQueue" doc:"Name of the interruption queue. Empty: the daemon does not know of interruptions."`
	PreferencePolicy  string `json:"preferencePolicy" doc:"What preferences of pods count. Respect: a preference is a requirement as long as the pod can then be placed. Ignore: preferences are not considered, so the nodes are the cheapest."`
	MinValuesPolicy   string `json:"minValuesPolicy" doc:"What happens if a launch cannot meet minValues of its node pool. Strict: nothing is launched from that pool. BestEffort: the launch with the most different values is made."`
	Landing           string `json:"landing" doc:"How pods come to their places that are evicted to save money. auto: as bind, unless a descheduler, a cluster-autoscaler or Karpenter runs in the cluster, or the cluster has more than 300 nodes. bind: nodes with room are closed by a taint for seconds, and the daemon binds the pods. prefer: the kube-scheduler chooses; the daemon has no right to bind pods then."`
	NodeCost          string `json:"nodeCost" doc:"What each node costs beside its instance, its volumes and its public address, in dollars an hour from 0 to 100, as text. With a higher cost, nodes are larger and fewer."`
	PauseDisruption   bool   `json:"pauseDisruption" doc:"Pause disruption in the whole cluster: no node is deleted because it is empty, could be cheaper, has drifted or expires. Interrupted nodes are still replaced."`
	UseFIPSEndpoint   bool   `json:"useFIPSEndpoint" doc:"Call the FIPS endpoints of AWS. A service that has none in the region cannot be called then."`
	UseDualStack      bool   `json:"useDualStackEndpoint" doc:"Call the dual-stack endpoints of AWS, which answer by IPv6, too. A service that has none in the region cannot be called then."`
	ReservedENIs      int32  `json:"reservedENIs" doc:"How many network interfaces of each instance pods do not use, such as 1 with custom networking of the VPC CNI. Plans count the pods of the others, and kubelets are told."`
	VMMemoryOverhead  string `json:"vmMemoryOverheadPercent" doc:"Which part of the memory that EC2 names the nodes do not report, as text from 0 to below 1. Where nodes have reported less, that counts."`
	ClusterCABundle   string `json:"clusterCABundle" doc:"Certificates by which nodes know the API server, PEM in base64. Empty: those that EKS reports."`
	IsolatedVPC       bool   `json:"isolatedVPC" doc:"The network has no way to the public endpoints of AWS: on-demand prices are those that the daemon was built with, and IAM is asked only for node classes with a role."`
	SchedulerConfig   string `json:"schedulerConfig" doc:"Default topology spread constraints for pods that declare none, as text in JSON or YAML, the same as in the kube-scheduler's configuration. Empty: none."`
}

// ServiceAccount is the identity of the pods.
type ServiceAccount struct {
	Name    string `json:"name" doc:"Name of the service account, which the trust policy of the role must name."`
	RoleARN string `json:"roleARN" doc:"ARN of the daemon's role (IRSA). Empty if EKS Pod Identity gives the role to the service account. Without either, the daemon has no credentials."`
}

// Controller is the container.
type Controller struct {
	Image       Image             `json:"image" doc:"The image. Empty tag and digest: the image of this release."`
	Resources   Resources         `json:"resources" doc:"CPU and memory. The daemon keeps its own memory below nine tenths of the limit. null takes a default away."`
	Environment map[string]string `json:"environment" doc:"Further environment variables, such as GOMEMLIMIT or HTTPS_PROXY. Give no secrets: they are in the Deployment."`
	Metrics     Port              `json:"metrics" doc:"Where /metrics is."`
	HealthProbe Port              `json:"healthProbe" doc:"Where the health probes are."`
}

// Image is the image of the container, of which a digest decides what runs.
type Image struct {
	Repository string `json:"repository" doc:"Registry and path of the image. A mirror that keeps the digest needs no other field."`
	Tag        string `json:"tag" doc:"Tag in place of this release's."`
	Digest     string `json:"digest" doc:"Digest, sha256:..., in place of this release's. With a tag, too, the digest decides."`
}

// Resources are amounts of a container.
type Resources struct {
	Requests corev1.ResourceList `json:"requests" doc:"Requests of each pod."`
	Limits   corev1.ResourceList `json:"limits" doc:"Limits of each pod."`
}

// Port is a port that the daemon listens on.
type Port struct {
	Port int32 `json:"port" min:"1024" doc:"A port from 1024 to 65535."`
}

// Budget is the PodDisruptionBudget.
type Budget struct {
	Enabled        bool                `json:"enabled" doc:"Whether there is a PodDisruptionBudget."`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" min:"1" doc:"How many replicas may be evicted at a time: a number, or a percentage such as 50%. 1, if minAvailable is not set either."`
	MinAvailable   *intstr.IntOrString `json:"minAvailable,omitempty" doc:"In place of maxUnavailable: how many replicas must stay."`
}

// Definitions are the custom resource definitions.
type Definitions struct {
	Enabled bool `json:"enabled" doc:"Whether they are installed. false, where something else installs them: see karpenterd definitions."`
	Legacy  bool `json:"legacy" doc:"Install those of Provisioner and AWSNodeTemplate, too, which the daemon serves as they are."`
}

// Default returns what counts for fields that the user does not set. Cluster and region have no
// default.
func Default() Values {
	resources := install.DefaultResources()
	return Values{
		Settings: Settings{PreferencePolicy: install.PreferencesRespect, MinValuesPolicy: install.MinValuesStrict, Landing: install.LandingAuto, NodeCost: install.DefaultNodeCost, VMMemoryOverhead: install.DefaultMemoryOverhead},
		Mode:     install.ModeActive, LogLevel: install.DefaultLogLevel, LogKeys: install.LogKeysKarpenter, ServiceAccount: ServiceAccount{Name: install.DefaultServiceAccount},
		Controller: Controller{
			Image:       Image{Repository: install.DefaultRegistry + "/" + install.DefaultRepository},
			Resources:   Resources{Requests: resources.Requests, Limits: resources.Limits},
			Environment: map[string]string{},
			Metrics:     Port{install.MetricsPort}, HealthProbe: Port{install.HealthProbePort},
		},
		ImagePullPolicy: string(install.DefaultPullPolicy), ImagePullSecrets: []corev1.LocalObjectReference{}, Replicas: install.DefaultReplicas, PriorityClassName: install.DefaultPriorityClass,
		NodeSelector: map[string]string{}, AdditionalLabels: map[string]string{}, AdditionalAnnotations: map[string]string{},
		PodLabels: map[string]string{}, PodAnnotations: map[string]string{},
		Tolerations: install.DefaultTolerations(), PodDisruptionBudget: Budget{Enabled: true}, Definitions: Definitions{Enabled: true},
	}
}

// choices has the values of the fields that are one of a few words.
func choices() map[string][]string {
	return map[string][]string{
		"mode":                      install.Modes(),
		"logLevel":                  install.LogLevels(),
		"logKeys":                   install.LogKeys(),
		"settings.preferencePolicy": install.PreferencePolicies(),
		"settings.landing":          install.Landings(),
		"settings.minValuesPolicy":  install.MinValuesPolicies(),
		"imagePullPolicy":           install.PullPolicies(),
	}
}
