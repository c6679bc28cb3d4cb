package awsspec

import "fmt"

// ec2Principal is the service principal of EC2. Its domain depends on the partition (IAM
// user guide, "AWS service principals").
func ec2Principal(partition string) string { return "ec2." + DNSSuffix(partition) }

// NodeTrust is the trust policy of a node role: EC2 may assume it for instances.
func NodeTrust(partition string) string {
	return policyText(statement{
		Sid: "Instances", Effect: "Allow", Action: []string{"sts:AssumeRole"},
		Principal: map[string]string{"Service": ec2Principal(partition)},
	})
}

// NodeManagedPolicyARNs are the managed policies of AWS that a node role needs: to join
// the cluster, to configure pod networking, to pull images, and for Session Manager. They
// are sorted.
func NodeManagedPolicyARNs(partition string) []string {
	names := []string{
		"AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonSSMManagedInstanceCore",
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("arn:%s:iam::aws:policy/%s", partition, name)
	}
	return names
}

// IRSATrust is the trust policy of the daemon's role. It accepts only tokens of the
// service account, from the cluster's issuer, with the audience sts.amazonaws.com.
// issuerHostPath is the issuer without https://.
func IRSATrust(issuerHostPath, account, partition, namespace, serviceAccount string) string {
	return policyText(statement{
		Sid: "ServiceAccount", Effect: "Allow", Action: []string{"sts:AssumeRoleWithWebIdentity"},
		Principal: map[string]string{"Federated": fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", partition, account, issuerHostPath)},
	}.when("StringEquals", issuerHostPath+":aud", "sts.amazonaws.com").
		when("StringEquals", issuerHostPath+":sub", "system:serviceaccount:"+namespace+":"+serviceAccount))
}
