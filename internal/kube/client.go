package kube

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// The typed clients of the product's own kinds: Get, List, Watch, Create, Update,
// UpdateStatus, Patch (with subresources), Delete.
type (
	// NodePools reads and writes NodePools.
	NodePools = gentype.ClientWithList[*v1.NodePool, *v1.NodePoolList]
	// NodeClaims reads and writes NodeClaims.
	NodeClaims = gentype.ClientWithList[*v1.NodeClaim, *v1.NodeClaimList]
	// EC2NodeClasses reads and writes EC2NodeClasses.
	EC2NodeClasses = gentype.ClientWithList[*awsv1.EC2NodeClass, *awsv1.EC2NodeClassList]
)

// Clients are the daemon's clients. They share connections and the rate limit. The
// client of built-in kinds uses protobuf, which takes a third of the time and memory of
// JSON. The product's own kinds are always JSON.
type Clients struct {
	Core           kubernetes.Interface
	NodePools      *NodePools
	NodeClaims     *NodeClaims
	EC2NodeClasses *EC2NodeClasses
	// Any is for kinds that are known by their name alone.
	Any dynamic.Interface
	// The kinds before v1, which not every cluster has.
	Provisioners, AWSNodeTemplates dynamic.NamespaceableResourceInterface
}

// NewScheme makes a scheme with the product's own kinds.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme make: %w", err)
		}
	}
	return scheme, nil
}

// NewClients makes the clients, and does not connect.
func NewClients(config *rest.Config) (*Clients, error) {
	config = rest.CopyConfig(config)
	if config.RateLimiter == nil && config.QPS > 0 {
		// One limiter for all: otherwise each client would make its own.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes clients make: %w", err)
	}
	// The same as client-go's own typed clients use by default.
	builtIn := rest.CopyConfig(config)
	builtIn.ContentType = runtime.ContentTypeProtobuf
	builtIn.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	core, err := kubernetes.NewForConfigAndClient(builtIn, transport)
	if err != nil {
		return nil, fmt.Errorf("kubernetes clients make: %w", err)
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	karpenter, err := groupClient(config, transport, scheme, v1.GroupVersion())
	if err != nil {
		return nil, err
	}
	aws, err := groupClient(config, transport, scheme, awsv1.GroupVersion())
	if err != nil {
		return nil, err
	}
	older, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("kubernetes clients make: %w", err)
	}
	parameters := runtime.NewParameterCodec(scheme)
	return &Clients{
		Any:              older,
		Provisioners:     older.Resource(resourceOf(legacy.VersionProvisioner, legacy.ResourceProvisioner)),
		AWSNodeTemplates: older.Resource(resourceOf(legacy.VersionAWSNodeTemplate, legacy.ResourceAWSNodeTemplate)),
		Core:             core,
		NodePools: gentype.NewClientWithList(v1.NodePoolResource, karpenter, parameters, "",
			func() *v1.NodePool { return &v1.NodePool{} }, func() *v1.NodePoolList { return &v1.NodePoolList{} }),
		NodeClaims: gentype.NewClientWithList(v1.NodeClaimResource, karpenter, parameters, "",
			func() *v1.NodeClaim { return &v1.NodeClaim{} }, func() *v1.NodeClaimList { return &v1.NodeClaimList{} }),
		EC2NodeClasses: gentype.NewClientWithList(awsv1.EC2NodeClassResource, aws, parameters, "",
			func() *awsv1.EC2NodeClass { return &awsv1.EC2NodeClass{} }, func() *awsv1.EC2NodeClassList { return &awsv1.EC2NodeClassList{} }),
	}, nil
}

// resourceOf is the resource of an apiVersion, which is correct: it is a constant.
func resourceOf(apiVersion, resource string) schema.GroupVersionResource {
	group, version, _ := strings.Cut(apiVersion, "/")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

func groupClient(config *rest.Config, transport *http.Client, scheme *runtime.Scheme, gv schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	config.NegotiatedSerializer = lenient{serializer.NewCodecFactory(scheme).WithoutConversion(), scheme}
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client for %s make: %w", gv, err)
	}
	return client, nil
}
