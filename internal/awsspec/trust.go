package awsspec

import (
	"fmt"
	"slices"
)

// ec2Principal is the service principal of EC2. IAM refuses a principal with the domain of
// the endpoints in partitions as new as aws-eusc, and accepts the common one everywhere. In
// aws-cn, EKS asks for the partition's own in the role of a node.
func ec2Principal(partition string) string {
	if partition == "aws-cn" {
		return "ec2." + DNSSuffix(partition)
	}
	return "ec2." + commonSuffix
}

// ec2Principals are the names by which IAM may know EC2 when it asks whether a role may be
// passed: beside the principal, that with the domain of the endpoints.
func ec2Principals(partition string) []string {
	names := []string{ec2Principal(partition), "ec2." + DNSSuffix(partition)}
	return slices.Compact(names)
}

// NodeTrust is the trust policy of a node role: EC2 may assume it for instances.
func NodeTrust(partition string) string {
	return policyText(statement{
		Sid: "Instances", Effect: "Allow", Action: []string{assumeRole},
		Principal: map[string]string{"Service": ec2Principal(partition)},
	})
}

// NodeManagedPolicyARNs are the managed policies of AWS that a node role needs: to join
// the cluster, to configure pod networking, to pull images, and for Session Manager. They
// are sorted.
func NodeManagedPolicyARNs(partition string) []string {
	names := []string{"AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", cniPolicy, ssmPolicy}
	for i, name := range names {
		names[i] = managedPolicyARN(partition, name)
	}
	return names
}

// cniPolicy allows to configure pod networking, ssmPolicy Session Manager.
const (
	cniPolicy = "AmazonEKS_CNI_Policy"
	ssmPolicy = "AmazonSSMManagedInstanceCore"
)

// CNIPolicyARN is the managed policy of AWS that the VPC CNI needs for IPv4, on the nodes or
// in a role of its own.
func CNIPolicyARN(partition string) string { return managedPolicyARN(partition, cniPolicy) }

// SSMPolicyARN is the managed policy of AWS that Systems Manager needs on nodes.
func SSMPolicyARN(partition string) string { return managedPolicyARN(partition, ssmPolicy) }

func managedPolicyARN(partition, name string) string {
	return fmt.Sprintf("arn:%s:iam::aws:policy/%s", partition, name)
}

// IRSATrust is the trust policy of the daemon's role. It accepts only tokens of the
// service account, from the cluster's issuer, with the audience sts.amazonaws.com.
// issuerHostPath is the issuer without https://.
func IRSATrust(issuerHostPath, account, partition, namespace, serviceAccount string) string {
	return policyText(statement{
		Sid: "ServiceAccount", Effect: "Allow", Action: []string{assumeByIRSA},
		Principal: map[string]string{"Federated": OIDCProviderARN(issuerHostPath, account, partition)},
	}.when("StringEquals", issuerHostPath+":aud", IRSAAudience).
		when("StringEquals", issuerHostPath+":sub", subject(namespace, serviceAccount)))
}

// What the daemon's role must admit: the first for IRSA, the others for EKS Pod Identity.
const (
	assumeByIRSA = "sts:AssumeRoleWithWebIdentity"
	assumeRole   = "sts:AssumeRole"
	tagSession   = "sts:TagSession"
)

// IRSAAudience is the audience of the tokens that EKS gives to pods for IRSA, unless an
// annotation of the service account says otherwise.
const IRSAAudience = "sts.amazonaws.com"

// subject is how a token names its service account.
func subject(namespace, serviceAccount string) string {
	return "system:serviceaccount:" + namespace + ":" + serviceAccount
}

// OIDCProviderARN is the ARN of the IAM OIDC provider of a cluster's issuer, which is given without its scheme.
func OIDCProviderARN(issuerHostPath, account, partition string) string {
	return fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", partition, account, issuerHostPath)
}

// PodIdentityPrincipal is the service by which EKS assumes the roles of pods. It is the same
// in all partitions.
const PodIdentityPrincipal = "pods.eks.amazonaws.com"

// Request tags of a session of EKS Pod Identity that say whose pod has it.
const (
	podClusterTag   = "aws:RequestTag/eks-cluster-arn"
	podNamespaceTag = "aws:RequestTag/kubernetes-namespace"
	podAccountTag   = "aws:RequestTag/kubernetes-service-account"
)

// PodIdentityTrust is the trust policy of the daemon's role where EKS Pod Identity gives the
// role to the pods. It accepts only sessions for the service account in the cluster, by the
// tags of the session. Source: EKS user guide, "Create IAM role with trust policy required by
// EKS Pod Identity".
func PodIdentityTrust(clusterARN, namespace, serviceAccount string) string {
	return policyText(statement{
		Sid: "PodIdentity", Effect: "Allow", Action: []string{assumeRole, tagSession},
		Principal: map[string]string{"Service": PodIdentityPrincipal},
	}.when("StringEquals", podClusterTag, clusterARN).
		when("StringEquals", podNamespaceTag, namespace).
		when("StringEquals", podAccountTag, serviceAccount))
}

// ClusterARN is the ARN of an EKS cluster.
func ClusterARN(partition, region, account, cluster string) string {
	return fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", partition, region, account, cluster)
}
