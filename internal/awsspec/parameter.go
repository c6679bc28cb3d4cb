package awsspec

// PublicParameters is the path of the SSM parameters that AWS and publishers of images
// keep, which everybody may read. Source: Systems Manager user guide, "Discovering public
// parameters".
const PublicParameters = "/aws/service/"
