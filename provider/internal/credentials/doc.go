// Package credentials owns how the provider calls AWS: region, credentials, retries and
// proxies, with the meaning that they have in the AWS provider (hashicorp/aws). The chain
// of credentials is that of github.com/hashicorp/aws-sdk-go-base.
//
// Load reads files and the environment, and never connects: credentials are looked for
// at the first call to AWS, and roles are assumed then. Durations are time.Duration.
package credentials
