package probe

import "fmt"

// linuxFilesystems gives names to the magic numbers of statfs(2). The numbers come from
// include/uapi/linux/magic.h where it has them, else from the filesystems' own sources.
var linuxFilesystems = map[uint32]string{
	0x0000ef53: "ext4", // ext2 and ext3 have the same number
	0x01021994: "tmpfs",
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0xf2f52010: "f2fs",
	0x2fc12fc1: "zfs",
	0x794c7630: "overlay",
	0x858458f6: "ramfs",
	0x3153464a: "jfs",
	0x00003434: "nilfs2",
	0x52654973: "reiserfs",
	0xca451a4e: "bcachefs",
	0x00004d44: "vfat",
	0x2011bab0: "exfat",
	0x5346544e: "ntfs",
	0x7366746e: "ntfs3",
	0x00004244: "hfs",
	0x0000482b: "hfsplus",
	0x00011954: "ufs",
	0x19540119: "ufs2",
	0x15013346: "udf",
	0x00009660: "iso9660",
	0x73717368: "squashfs",
	0xe0f5e1e2: "erofs",
	0x28cd3d45: "cramfs",
	0x24051905: "ubifs",
	0x000072b6: "jffs2",
	0x0000137f: "minix",
	0x0000138f: "minix",
	0x00002468: "minix",
	0x00002478: "minix",
	0x00004d5a: "minix",

	0x00006969: "nfs",
	0x0000517b: "smb",
	0xfe534d42: "smb2",
	0xff534d42: "cifs",
	0x01021997: "9p",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x0000564c: "ncp",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
	0x7c7c6673: "prlfs",
	0x20030528: "orangefs",
	0x19830326: "beegfs",
	0xaad7aaea: "panfs",
	0xbeefdead: "snfs",
	0xa501fcf5: "vxfs", // has a cluster mode under the same number
	0x61636673: "acfs",
	0x65735546: "fuse", // and virtiofs; what is behind it cannot be seen
	0x0000f15f: "ecryptfs",
	0x61756673: "aufs",
	0x00c0ffee: "hostfs",
	0x00009fa0: "proc",
	0x62656572: "sysfs",
}

// localFilesystems are the ones of which a mounted instance belongs to one kernel. An overlay is on
// the list because its upper layer, where everything new goes, cannot be a network filesystem. What
// passes requests on to somewhere else (FUSE, eCryptfs, the shares of virtual machines) is not.
var localFilesystems = map[string]bool{
	"ext4": true, "tmpfs": true, "xfs": true, "btrfs": true, "f2fs": true, "zfs": true,
	"overlay": true, "ramfs": true, "jfs": true, "nilfs2": true, "reiserfs": true,
	"bcachefs": true, "vfat": true, "exfat": true, "ntfs": true, "ntfs3": true, "hfs": true,
	"hfsplus": true, "ufs": true, "ufs2": true, "udf": true, "iso9660": true, "squashfs": true,
	"erofs": true, "cramfs": true, "ubifs": true, "jffs2": true, "minix": true,
}

// linuxFilesystem returns the name of a magic number, the number itself in hex when it has none.
func linuxFilesystem(magic uint32) string {
	if name, ok := linuxFilesystems[magic]; ok {
		return name
	}
	return fmt.Sprintf("0x%08x", magic)
}

// localFilesystem reports whether a filesystem of that name is known to belong to one kernel.
func localFilesystem(name string) bool { return localFilesystems[name] }
