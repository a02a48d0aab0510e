// Renders a chart with Helm's own engine and prints its objects, as `helm template` does: building the whole
// of Helm takes three times as long. `render-chart CHART RELEASE NAMESPACE [VALUES...]` reads further values
// from standard input. KUBE_APISERVER is the address of an API server that `lookup` asks, as in an upgrade.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/client-go/rest"
)

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: render-chart CHART RELEASE NAMESPACE [VALUES...] < VALUES"))
	}
	files, err := render(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fail(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		objects := strings.TrimPrefix(strings.TrimSpace(files[name]), "---")
		if path.Base(name) != "NOTES.txt" && objects != "" {
			fmt.Printf("---\n%s\n", strings.TrimSpace(objects))
		}
	}
}

func render(directory, release, namespace string, valueFiles []string) (map[string]string, error) {
	chart, err := loader.Load(directory)
	if err != nil {
		return nil, err
	}
	values, err := mergeValues(valueFiles)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities.Copy())
	if err != nil {
		return nil, err
	}
	if server := os.Getenv("KUBE_APISERVER"); server != "" {
		return engine.RenderWithClient(chart, all, &rest.Config{Host: server})
	}
	return engine.Render(chart, all)
}

// mergeValues merges the files and standard input; later values replace earlier ones.
func mergeValues(files []string) (map[string]any, error) {
	inputs := []io.Reader{}
	for _, file := range files {
		input, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	merged := map[string]any{}
	for _, input := range append(inputs, os.Stdin) {
		values, err := loader.LoadValues(input)
		if err != nil {
			return nil, err
		}
		merged = loader.MergeMaps(merged, values)
	}
	return merged, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}
