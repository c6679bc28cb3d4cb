//go:build lab

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

const nodeTrust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// What takes EC2 seconds.
const (
	startTime = time.Second
	stopTime  = 3 * time.Second
)

// world is a laboratory with the deployer's clients.
type world struct {
	*lab.Lab
	ec2 *ec2.Client
	iam *iam.Client
	eks *eks.Client
}

func startWorld(t *testing.T, o lab.Options) world {
	t.Helper()
	o.Dir = t.TempDir()
	o.StartTime, o.StopTime, o.BootDelay = startTime, stopTime, 100*time.Millisecond
	o.Prompt = true
	l, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	config := aws.Config{
		Region: l.Region, BaseEndpoint: aws.String(l.Cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(l.Deployer.AccessKeyID, l.Deployer.SecretAccessKey, ""),
	}
	return world{l, ec2.NewFromConfig(config), iam.NewFromConfig(config), eks.NewFromConfig(config)}
}

// role makes a node role in an instance profile of the same name; entry says
// whether the cluster lets it in.
func (w world) role(t *testing.T, name string, entry bool) {
	t.Helper()
	role, err := w.iam.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(nodeTrust)})
	if err != nil {
		t.Fatal(err)
	}
	_, profileErr := w.iam.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
	_, addErr := w.iam.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &name})
	if err := errors.Join(profileErr, addErr); err != nil {
		t.Fatal(err)
	}
	if entry {
		w.enter(t, *role.Role.Arn)
	}
}

func (w world) enter(t *testing.T, roleARN string) {
	t.Helper()
	_, err := w.eks.CreateAccessEntry(t.Context(), &eks.CreateAccessEntryInput{ClusterName: &w.ClusterName, PrincipalArn: &roleARN, Type: aws.String("EC2_LINUX")})
	if err != nil {
		t.Fatal(err)
	}
}

func (w world) describe(t *testing.T) (*ekstypes.Cluster, error) {
	t.Helper()
	answer, err := w.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: &w.ClusterName})
	if err != nil {
		return nil, err
	}
	return answer.Cluster, nil
}

// userData is what a right launch gives a machine.
type userData struct {
	cluster, endpoint string
	ca                []byte
}

func (w world) goodUserData() userData { return userData{w.ClusterName, w.Endpoint, w.CA} }

func (u userData) String() string {
	return fmt.Sprintf(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: %s
  kubelet:
    config:
      maxPods: 17
      registerWithTaints:
        - {key: example.com/new, value: "yes", effect: NoExecute}
    flags:
      - --node-labels="karpenter.sh/nodepool=default,example.com/team=a"
--BOUNDARY--
`, u.cluster, u.endpoint, base64.StdEncoding.EncodeToString(u.ca), lab.ServiceCIDR)
}

// launch runs one m5.large and returns its id.
func (w world) launch(t *testing.T, profile string, u userData) string {
	t.Helper()
	images, err := w.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-*"}},
		{Name: aws.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("no image: %v", err)
	}
	input := &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: &w.VPC.SubnetIDs[0], UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(u.String()))),
		SecurityGroupIds: []string{w.VPC.ClusterSecurityGroupID},
	}
	if profile != "" {
		input.IamInstanceProfile = &ec2types.IamInstanceProfileSpecification{Name: &profile}
	}
	answer, err := w.ec2.RunInstances(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return *answer.Instances[0].InstanceId
}

// joins waits for the machine's Node to be Ready and initialized.
func (w world) joins(t *testing.T, id string) *corev1.Node {
	t.Helper()
	var node *corev1.Node
	eventually(t, func() error {
		boot, _ := w.Machines.Boot(id)
		if !boot.Joined {
			return fmt.Errorf("boot log: %v", boot.Log)
		}
		var err error
		node, err = w.Admin.CoreV1().Nodes().Get(t.Context(), boot.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if strings.HasPrefix(taint.Key, "node.c") || strings.HasPrefix(taint.Key, "node.kubernetes.io/not-ready") {
				return fmt.Errorf("taint %s is still there", taint.Key)
			}
		}
		return nil
	})
	return node
}

// staysOut waits for the machine to have tried and failed for the reason.
func (w world) staysOut(t *testing.T, id, reason string) {
	t.Helper()
	eventually(t, func() error {
		boot, _ := w.Machines.Boot(id)
		if boot.Joined {
			t.Fatal("the machine joined")
		}
		if n := len(boot.Log); n == 0 || !strings.Contains(boot.Log[n-1].Text, reason) {
			return fmt.Errorf("boot log %v does not say %q", boot.Log, reason)
		}
		return nil
	})
	nodes, err := w.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if strings.HasSuffix(n.Spec.ProviderID, id) {
			t.Errorf("node %s joined", n.Name)
		}
	}
}

// closeLeavesNothing closes the only laboratory of the root: no process stays, and no file.
func closeLeavesNothing(t *testing.T, l *lab.Lab, root string) {
	t.Helper()
	dir := l.Dir
	if len(processesNaming(t, dir)) == 0 {
		t.Fatal("no process names the scratch directory: the test cannot see any")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left := processesNaming(t, dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", root, err)
	}
}

// laboratoryProgram is a laboratory that waits to be killed; its scratch root
// is its only argument.
func laboratoryProgram() int {
	l, err := lab.Start(context.Background(), lab.Options{Dir: os.Args[1]})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", l.Dir)
	select {}
}
