package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// Load makes the SDK's configuration. Errors: ErrRegion, ErrProfile, ErrFile. Whether
// there are credentials, and whether they are accepted, shows at the first call.
func Load(ctx context.Context, s Settings) (awssdk.Config, error) {
	base := s.base(s.Region)
	transport, err := base.HTTPTransportOptions()
	if err != nil {
		return awssdk.Config{}, fmt.Errorf("aws configuration load: %w", err)
	}
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(aws.RequestTimeout).WithTransportOptions(transport)),
		config.WithCredentialsProvider(awssdk.AnonymousCredentials{}), // replaced below: it keeps the SDK from looking for others
	}
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if s.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(s.Profile))
	}
	options = append(options, aws.EndpointOptions(s.FIPS, s.DualStack)...)
	configFiles, err := base.ResolveSharedConfigFiles()
	if err := errors.Join(err, readable("shared_config_files", configFiles)); err != nil {
		return awssdk.Config{}, err
	}
	credentialsFiles, err := base.ResolveSharedCredentialsFiles()
	if err := errors.Join(err, readable("shared_credentials_files", credentialsFiles)); err != nil {
		return awssdk.Config{}, err
	}
	if len(configFiles) > 0 {
		options = append(options, config.WithSharedConfigFiles(configFiles))
	}
	if len(credentialsFiles) > 0 {
		options = append(options, config.WithSharedCredentialsFiles(credentialsFiles))
	}
	sdk, err := config.LoadDefaultConfig(ctx, options...)
	var missing config.SharedConfigProfileNotExistError
	if errors.As(err, &missing) {
		return awssdk.Config{}, fmt.Errorf("%w: profile %q, from %s, is not in %s", ErrProfile, missing.Profile, origin(s.Profile),
			strings.Join(searched(configFiles, credentialsFiles), " and "))
	}
	if err != nil {
		return awssdk.Config{}, fmt.Errorf("aws configuration load: %w", err)
	}
	if sdk.Region == "" {
		return awssdk.Config{}, ErrRegion
	}
	retries(&sdk, s)
	base.Region = sdk.Region
	sdk.Credentials = awssdk.NewCredentialsCache(&lazy{base: base}, func(o *awssdk.CredentialsCacheOptions) { o.ExpiryWindow = renewal })
	return sdk, nil
}

// readable refuses files that cannot be read: the SDK would treat them as empty.
func readable(attribute string, files []string) error {
	for _, name := range files {
		f, err := os.Open(name) //nolint:gosec // the user's own configuration names the file
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFile, attribute, err)
		}
		_ = f.Close()
	}
	return nil
}

// origin says where the name of the profile is from.
func origin(profile string) string {
	if profile != "" {
		return "the attribute profile"
	}
	return "the environment variable AWS_PROFILE"
}

// searched are the files in which the SDK looks for profiles.
func searched(configFiles, credentialsFiles []string) []string {
	if len(configFiles) == 0 {
		configFiles = []string{cmp.Or(os.Getenv("AWS_CONFIG_FILE"), config.DefaultSharedConfigFilename())}
	}
	if len(credentialsFiles) == 0 {
		credentialsFiles = []string{cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), config.DefaultSharedCredentialsFilename())}
	}
	return append(append([]string{}, configFiles...), credentialsFiles...)
}

// retries sets how often a call is tried: as the settings say, or else the environment and
// the profile (AWS_MAX_ATTEMPTS, AWS_RETRY_MODE). There is no quota of retries over all
// calls: with one, a call could fail long before its attempts are used up.
func retries(sdk *awssdk.Config, s Settings) {
	attempts := cmp.Or(s.MaxAttempts, sdk.RetryMaxAttempts, aws.MaxAttempts)
	mode := cmp.Or(awssdk.RetryMode(s.RetryMode), sdk.RetryMode, awssdk.RetryModeStandard)
	standard := func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, cmp.Or(s.MaxBackoff, aws.MaxBackoff), ratelimit.None
	}
	sdk.RetryMaxAttempts, sdk.RetryMode = attempts, mode // the clients would put those of the environment above the retryer's
	sdk.Retryer = func() awssdk.Retryer {
		if mode == awssdk.RetryModeAdaptive {
			return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.StandardOptions = append(o.StandardOptions, standard) })
		}
		return retry.NewStandard(standard)
	}
}
