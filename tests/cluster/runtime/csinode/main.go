// The part of a CSI driver that runs on a node, for volumes that hold nothing: mounting one is making
// a folder. The kubelet needs it to start pods with such volumes. All raw volumes are one device, which
// is a file of a megabyte: nobody reads or writes it.
//
// Arguments: name of the driver, name of the node.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const kubelet = "/var/lib/kubelet"

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer
	name, node, socket string
	lock               sync.Mutex
	device             int
}

func (d *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: "CSIPlugin", Name: d.name, Endpoint: d.socket, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (*driver) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Fatal(status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (*driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (*driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if request.VolumeCapability.GetBlock() == nil {
		return &csi.NodePublishVolumeResponse{}, os.MkdirAll(request.TargetPath, 0o777)
	}
	err := d.makeDevice(request.TargetPath)
	return &csi.NodePublishVolumeResponse{}, err
}

func (d *driver) makeDevice(path string) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.device == 0 {
		found, err := emptyDevice()
		if err != nil {
			return err
		}
		d.device = found
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := syscall.Mknod(path, syscall.S_IFBLK|0o600, d.device)
	if os.IsExist(err) {
		return nil
	}
	return err
}

func emptyDevice() (int, error) {
	file := filepath.Join(kubelet, "empty")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return 0, err
	}
	if err := os.Truncate(file, 1<<20); err != nil {
		return 0, err
	}
	printed, err := exec.Command("losetup", "--find", "--show", file).Output()
	if err != nil {
		return 0, err
	}
	var found syscall.Stat_t
	err = syscall.Stat(strings.TrimSpace(string(printed)), &found)
	return int(found.Rdev), err
}

func (*driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, os.RemoveAll(request.TargetPath)
}

func listen(path string) net.Listener {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	d := &driver{name: os.Args[1], node: os.Args[2]}
	d.socket = filepath.Join(kubelet, "plugins", d.name, "csi.sock")
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, d)
	csi.RegisterNodeServer(server, d)
	go func() { log.Fatal(server.Serve(listen(d.socket))) }()
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, d)
	log.Fatal(registrar.Serve(listen(filepath.Join(kubelet, "plugins_registry", d.name+"-reg.sock"))))
}
