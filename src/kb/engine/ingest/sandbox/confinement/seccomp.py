"""Refuses a process the given system calls: seccomp, on Linux.

A refused call answers "not permitted" instead of killing: then Python raises, and the document
fails with an error of its own. The filter is a small program that the kernel runs before every call
(classic BPF). It is the second lock beside Landlock, and on older kernels the only one. It knows no
paths, but keeps a process from opening anything for writing, from talking to anybody, and from
starting or touching other processes.

There are two filters. A server locks itself in with the long one, which its readers inherit,
because installing it takes the kernel half a millisecond. The short one refuses what a server needs
and a reader does not.
"""

import ctypes
import errno
import os
import struct

from kb.engine.ingest.sandbox.confinement import kernel

_SET_FILTER, _ASK_ACTION = 1, 2
_SPECULATION_ALLOWED = 4  # else old kernels slow the whole process down
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

# Classic BPF: operation, how many steps to go on if true and if false, operand.
_LOAD, _EQUALS, _GREATER, _SOME_BITS, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_CALL, _ARCHITECTURE = 0, 4  # offsets; the next are those of the low halves
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 16, 24, 32

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_NEWEST = 448  # what is newer is unknown here, and every library does without

# Name: its number on x86_64 and on aarch64, which never had some of them.
_NETWORK = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
_SENDING = {"sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269)}
_WRITING = {
    "creat": (85, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, None), "mkdirat": (258, 34),
    "rmdir": (84, None), "link": (86, None), "linkat": (265, 37), "symlink": (88, None),
    "symlinkat": (266, 36), "mknod": (133, None), "mknodat": (259, 33), "chmod": (90, None),
    "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55), "lchown": (94, None),
    "fchownat": (260, 54), "truncate": (76, 45), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16),
}  # fmt: skip
_SYSTEM = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None),
    "personality": (135, 92), "fanotify_init": (300, 262), "inotify_init": (253, None),
    "inotify_init1": (294, 26), "memfd_secret": (447, 447),
    "sync": (162, 81), "syncfs": (306, 267),
    # Memory of these outlives a process, and others may have left some.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "semget": (64, 190),
    "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}  # fmt: skip
_OTHER_PROCESSES = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "kcmp": (312, 272), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
}  # fmt: skip
_GROUPS = {"setsid": (112, 157), "setpgid": (109, 154)}
# A program can be put together in a file in memory, where no rule about folders holds; those that a
# reader needs it has already. And a lock on a file of the store would keep the engine waiting.
_FILES = {"memfd_create": (319, 279), "fchmod": (91, 52), "flock": (73, 32)}
_STARTING = {"execve": (59, 221), "execveat": (322, 281), "vfork": (58, None)}
_FORK = (57, None)

_OPEN, _OPENAT, _OPENAT2 = (2, None), (257, 56), (437, 437)
_CLONE, _CLONE3 = (56, 220), (435, 435)
_KILL, _TGKILL, _PRLIMIT, _PRCTL = (62, 129), (234, 131), (302, 261), (157, 167)
_FCNTL, _IOCTL = (72, 25), (16, 29)

# What these two may be asked for: about the process's own descriptors. The rest names processes
# that are to be signalled, locks files, or types into the terminal that the engine was started in.
_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL, _F_DUPFD_CLOEXEC = 0, 1, 2, 3, 4, 1030
_TCGETS, _TCGETS2, _TIOCGWINSZ, _FIONREAD, _FIONBIO = 0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421
_FIONCLEX, _FIOCLEX = 0x5450, 0x5451
_HARMLESS_FCNTL = (_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL, _F_DUPFD_CLOEXEC)
_HARMLESS_IOCTL = (_TCGETS, _TCGETS2, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX)

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Flags of clone: a thread; a child of the parent's, or with namespaces of its own, in which it
# would have privileges.
_THREAD = 0x00010000
_APART = 0x00008000 | 0x00020000 | 0x7E000000

Numbers = tuple[int | None, int | None]


def available() -> bool:
    """Whether this machine's system calls are known here, and its kernel can refuse them."""
    if kernel.MACHINE not in _ARCHITECTURES:
        return False
    try:
        kernel.call(_SECCOMP[kernel.MACHINE], _ASK_ACTION, 0, struct.pack("=I", _REFUSE))
    except OSError as error:
        return error.errno == errno.EINVAL  # older than the question, which came with Linux 4.14
    return True


class Filters:
    """The filters for this machine, made once; both need PR_SET_NO_NEW_PRIVS. `processes` leaves
    out what a reader needs that runs another program."""

    def __init__(self, *, processes: bool) -> None:
        self._machine = list(_ARCHITECTURES).index(kernel.MACHINE)
        self._processes = processes
        self._prologue = self._of_this_machine()
        self._reader = self._prologue + self._of_readers()

    def lock_server(self) -> None:
        """Refuse a server what neither it nor a reader needs."""
        plain = [*_NETWORK.values(), *_WRITING.values(), *_SYSTEM.values()]
        plain += _OTHER_PROCESSES.values()
        if not self._processes:
            plain += _STARTING.values()
        _install(self._prologue + b"".join(self._always(each, errno.EPERM) for each in plain))

    def lock_reader(self) -> None:
        """Refuse a reader, in addition, what only its server needs."""
        _install(self._reader + self._of_this_process())

    def _of_this_machine(self) -> bytes:
        """Calls in the manner of another machine, or newer than this list, are refused whole."""
        return b"".join(
            (
                _step(_LOAD, _ARCHITECTURE),
                _step(_EQUALS, _ARCHITECTURES[kernel.MACHINE], if_true=1),
                _refuse(errno.EPERM),
                _step(_LOAD, _CALL),
                _step(_GREATER, _NEWEST, if_false=1),
                _refuse(errno.ENOSYS),
            )
        )

    def _of_readers(self) -> bytes:
        plain = [*_SENDING.values(), *_GROUPS.values(), *_FILES.values()]
        rules = [self._always(numbers, errno.EPERM) for numbers in plain]
        # Their flags are behind a pointer, which a filter cannot follow; libraries then use the
        # older form.
        rules += [self._always(numbers, errno.ENOSYS) for numbers in (_OPENAT2, _CLONE3)]
        rules.append(self._if_bits(_OPEN, _SECOND_ARGUMENT, _WRITE_FLAGS))
        rules.append(self._if_bits(_OPENAT, _THIRD_ARGUMENT, _WRITE_FLAGS))
        if not self._processes:
            rules.append(self._always(_FORK, errno.EPERM))
            rules.append(self._unless_bits(_CLONE, _FIRST_ARGUMENT, _THREAD))
        else:
            rules.append(self._if_bits(_CLONE, _FIRST_ARGUMENT, _APART))
        rules.append(self._unless_equal(_PRLIMIT, _FIRST_ARGUMENT, 0))
        rules.append(self._unless_equal(_FCNTL, _SECOND_ARGUMENT, *_HARMLESS_FCNTL))
        rules.append(self._unless_equal(_IOCTL, _SECOND_ARGUMENT, *_HARMLESS_IOCTL))
        rules.append(self._if_equal(_PRCTL, _FIRST_ARGUMENT, kernel.SET_PARENT_DEATH_SIGNAL))
        return b"".join(rules)

    def _of_this_process(self) -> bytes:
        """A process may signal itself: abort() does. What it runs, if it may run anything, may
        signal nobody at all."""
        own = os.getpid()
        return b"".join(
            self._unless_equal(numbers, _FIRST_ARGUMENT, own) for numbers in (_KILL, _TGKILL)
        )

    def _always(self, numbers: Numbers, answer: int) -> bytes:
        number = numbers[self._machine]
        if number is None:
            return b""
        return _step(_EQUALS, number, if_false=1) + _refuse(answer)

    def _if_bits(self, numbers: Numbers, argument: int, bits: int) -> bytes:
        return self._tested(numbers, argument, _step(_SOME_BITS, bits, if_false=1))

    def _unless_bits(self, numbers: Numbers, argument: int, bits: int) -> bytes:
        return self._tested(numbers, argument, _step(_SOME_BITS, bits, if_true=1))

    def _if_equal(self, numbers: Numbers, argument: int, value: int) -> bytes:
        return self._tested(numbers, argument, _step(_EQUALS, value, if_false=1))

    def _unless_equal(self, numbers: Numbers, argument: int, *values: int) -> bytes:
        steps = [
            _step(_EQUALS, value, if_true=behind)
            for behind, value in zip(range(len(values), 0, -1), values, strict=True)
        ]
        return self._tested(numbers, argument, b"".join(steps))

    def _tested(self, numbers: Numbers, argument: int, test: bytes) -> bytes:
        """For one call, refuse or allow by an argument: the step after `test` refuses."""
        number = numbers[self._machine]
        if number is None:
            return b""
        decide = _step(_LOAD, argument) + test + _refuse(errno.EPERM) + _step(_RETURN, _ALLOW)
        return _step(_EQUALS, number, if_false=len(decide) // 8) + decide


def _install(rules: bytes) -> None:
    program = rules + _step(_RETURN, _ALLOW)
    held = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
    kernel.call(_SECCOMP[kernel.MACHINE], _SET_FILTER, _SPECULATION_ALLOWED, header)


def _step(operation: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, operand)


def _refuse(answer: int) -> bytes:
    return _step(_RETURN, _REFUSE | answer)
