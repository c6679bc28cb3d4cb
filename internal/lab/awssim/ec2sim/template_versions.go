package ec2sim

import (
	"fmt"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type versionItem struct {
	CreatedBy   string     `xml:"createdBy"`
	Created     string     `xml:"createTime"`
	IsDefault   bool       `xml:"defaultVersion"`
	Data        launchData `xml:"launchTemplateData"`
	ID          string     `xml:"launchTemplateId"`
	Name        string     `xml:"launchTemplateName"`
	Description string     `xml:"versionDescription,omitempty"`
	Number      int        `xml:"versionNumber"`
}

func (t *template) versionItem(number int) versionItem {
	v := t.versions[number-1]
	return versionItem{v.createdBy, stamp(v.created), number == 1, v.data, t.id, t.name, v.description, number}
}

type describeLaunchTemplateVersionsRequest struct {
	listing
	ID       string   `q:"LaunchTemplateId"`
	Name     string   `q:"LaunchTemplateName"`
	Versions []string `q:"LaunchTemplateVersion"`
	Min      *int     `q:"MinVersion"`
	Max      *int     `q:"MaxVersion"`
}

type versionsAnswer struct {
	Versions  set[versionItem] `xml:"launchTemplateVersionSet"`
	NextToken string           `xml:"nextToken,omitempty"`
}

func describeLaunchTemplateVersions(c *call, in *describeLaunchTemplateVersionsRequest) (any, error) {
	var found []versionItem
	var err error
	if in.ID == "" && in.Name == "" {
		found, err = c.s.versionsOfAll(in.Versions)
	} else {
		found, err = c.s.versionsOfOne(in)
	}
	if err != nil {
		return nil, err
	}
	page, next, err := view[versionItem]{
		key: func(v versionItem) string { return fmt.Sprintf("%s/%06d", v.ID, v.Number) },
		fields: map[string]func(versionItem) []string{
			"create-time":        func(v versionItem) []string { return one(v.Created) },
			"image-id":           func(v versionItem) []string { return one(v.Data.ImageID) },
			"instance-type":      func(v versionItem) []string { return one(v.Data.InstanceType) },
			"is-default-version": func(v versionItem) []string { return oneBool(v.IsDefault) },
		},
		minPage: 1, maxPage: 200, defaultPage: 200,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	return versionsAnswer{Versions: page, NextToken: next}, nil
}

// versionsOfAll: without a template only $Latest and $Default make sense.
func (s *Service) versionsOfAll(names []string) ([]versionItem, error) {
	if len(names) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain a launch template ID or a launch template name.")
	}
	var out []versionItem
	for _, t := range s.templates {
		seen := map[int]bool{}
		for _, name := range names {
			if name != "$Latest" && name != "$Default" {
				return nil, invalidValue("LaunchTemplateVersion", name, "Expected $Latest or $Default.")
			}
			number, _, err := t.version(name)
			if err != nil {
				return nil, err
			}
			if !seen[number] {
				seen[number] = true
				out = append(out, t.versionItem(number))
			}
		}
	}
	return out, nil
}

func (s *Service) versionsOfOne(in *describeLaunchTemplateVersionsRequest) ([]versionItem, error) {
	t, err := s.findTemplate(in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	names := in.Versions
	if len(names) == 0 {
		for number := range t.versions {
			names = append(names, strconv.Itoa(number+1))
		}
	}
	var out []versionItem
	seen := map[int]bool{}
	for _, name := range names {
		number, _, err := t.version(name)
		if err != nil {
			return nil, err
		}
		outside := in.Min != nil && number < *in.Min || in.Max != nil && number > *in.Max
		if !seen[number] && !outside {
			seen[number] = true
			out = append(out, t.versionItem(number))
		}
	}
	return out, nil
}
