package family

import (
	"errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// custom is any image whose user data the user writes. Its instances have to register with
// the taint karpenter.sh/unregistered by themselves.
type custom struct{}

func (custom) Name() string { return "Custom" }

func (custom) Parameters(string, string) ([]Parameter, error) {
	return nil, errors.New("the family Custom has no alias: select images by their id, name or tags")
}

// UserData is the user's, unchanged.
func (custom) UserData(n Node) (string, error) { return n.bounded(n.text()) }

func (custom) Volumes() []awsspec.BlockDevice { return nil }

func (custom) PodVolume() string { return "" }

// Adapt changes nothing: what the kubelet keeps is a guess.
func (custom) Adapt(*catalog.Settings) {}

func (custom) Ignores(awsv1.KubeletConfiguration) []Ignored { return nil }

// TellsKubelets says whether user data has settings of the kubelet: the user's own has none of
// the class.
func TellsKubelets(c *awsv1.EC2NodeClass) bool {
	_, own := Of(c).(custom)
	return !own
}
