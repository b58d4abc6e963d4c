//! Pseudo file systems of the kernel. Their files are not project text, some contain keys, and reading others
//! has side effects.

/// File system types as reported by `statfs`, with their names.
///
/// The values come from the kernel's `include/uapi/linux/magic.h`, or from the sources of file systems that
/// are not listed there. We leave out tmpfs, which people use for ordinary files. We also leave out devtmpfs,
/// which has the type of tmpfs and contains only devices, not regular files.
#[cfg(any(target_os = "linux", target_os = "android"))]
const KERNEL_FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_9fa0, "procfs"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x0000_1cd1, "devpts"),
    (0x6265_6570, "configfs"),
    (0x6165_676c, "pstore"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x1980_0202, "mqueue"),
    (0x9584_58f6, "hugetlbfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x0000_0187, "autofs"),
    (0x6e66_7364, "nfsd"),
    (0x0765_5821, "resctrl"),
    (0x6c6f_6f70, "binderfs"),
    (0x444d_4142, "dma-buf"),
    (0x0000_9fa2, "usbdevfs"),
];

/// Looks up the name of the kernel file system with this type.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn name_of(kind: u32) -> Option<&'static str> {
    KERNEL_FILE_SYSTEMS.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}
