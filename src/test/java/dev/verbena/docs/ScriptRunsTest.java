package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs the scripts but {@code scripts/test}. */
class ScriptRunsTest extends StubbedScripts {
    // Packages

    @Test
    void packagesAreFoundWhereThereIsNoApt() throws Exception {
        stubTools();
        Ended run = bash(
                "packages",
                "need_packages testing gcc libc6-dev libibverbs-dev librdmacm-dev shellcheck tcpdump ibverbs-utils "
                        + "rdmacm-utils perftest iproute2 util-linux maven");
        assertThat(run).isEqualTo(new Ended(0, ""));
    }

    @Test
    void missingPackagesAreNamedWhereThereIsNoApt() throws Exception {
        stub("gcc", DONE);
        Ended run = bash("packages", "need_packages 'comparing with C' gcc iproute2 maven");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("Needed for comparing with C and not found", ": iproute2 maven\n");
    }

    @Test
    void testDemoAndBenchRunWhereThereIsNoApt() throws Exception {
        stubTools();
        stub("taskset", DONE);
        program(project.resolve("scripts/soft-roce"), "echo \"soft-roce $*\"");
        Ended test = run("scripts/test", "SomeTest");
        assertThat(test.output()).endsWith("1 passed, 0 failed, 0 skipped\n");
        assertThat(test.status()).isZero();
        assertThat(run("scripts/demo").output()).contains("soft-roce run -- ");
        run("scripts/bench", "--short").succeeds();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "test --no-install SomeTest",
                "demo --no-install",
                "bench --no-install --short",
                "docs --no-install",
                "jshell --no-install",
                "verbena --no-install devices",
                "soft-roce prepare --no-install"
            })
    void noInstallNamesThePackagesAndInstallsNothing(String line) throws Exception {
        replaceFunctions("packages.sh", "is_root() { true; }");
        stub("apt-get", "echo \"apt-get $*\" >> \"$CALLS\"");
        stub("dpkg-query", "exit 1");
        String[] words = line.split(" ");
        words[0] = "scripts/" + words[0];
        Ended run = run(words);
        assertThat(run.status()).as(run.output()).isIn(1, 125);
        assertThat(run.output()).contains("Needed for ", "Run as root: apt-get update");
        assertThat(calls()).isEmpty();
    }

    /** One command installs what is named, and then nothing else is missing. */
    @ParameterizedTest
    @ValueSource(strings = {"test", "demo", "jshell"})
    void noInstallNamesAllPackagesAtOnce(String script) throws Exception {
        replaceFunctions("packages.sh", "is_root() { true; }");
        replaceFunctions("here.sh", "device_here() { false; }\ncan_add_device_here() { false; }");
        stub("apt-get", DONE);
        stub("dpkg-query", "exit 1");
        String output = run("scripts/" + script, "--no-install").output();
        assertThat(output).contains("Needed after that: ");
        String[] named = output.substring(output.indexOf("--no-install-recommends"))
                .strip()
                .split(" ");
        assertThat(named)
                .contains("maven", "iproute2", "rdma-core")
                .anyMatch(name -> name.startsWith("qemu-system-"))
                .doesNotHaveDuplicates();
    }

    @Test
    void installNamesThePackagesFirst() throws Exception {
        replaceFunctions("packages.sh", "is_root() { true; }");
        stub("apt-get", "echo \"apt-get $*\" >> \"$CALLS\"");
        stub("dpkg-query", "exit 1");
        Ended run = bash("packages", "need_packages building maven").succeeds();
        assertThat(run.output()).contains("Installing with apt-get, for building: maven\n", "--no-install");
        assertThat(calls()).startsWith("apt-get install ").contains(" maven");
    }

    // The JDK

    /** Lets no JDK be found but in the folder {@code jdks}, on a machine with apt and these packages of JDKs. */
    private void distributionHasJdks(String... packages) throws IOException {
        replaceFunctions("packages.sh", "is_root() { true; }");
        replaceFunctions("jdk.sh", "jdk_candidates() { ls -d \"$HOME\"/jdks/* 2> /dev/null || true; }");
        stub("apt-cache", "printf '%s\\n' " + String.join(" ", packages));
        stub("dpkg-query", "exit 1");
        stub(
                "apt-get",
                "echo \"apt-get $*\" >> \"$CALLS\"; [[ $1 == install ]] || exit 0; mkdir -p \"$HOME/jdks\"; "
                        + "cp -r \"$HOME/jdk\" \"$HOME/jdks/new\"");
    }

    @Test
    void jdkOfTheDistributionIsInstalled() throws Exception {
        distributionHasJdks("openjdk-21-jdk-headless", "openjdk-26-jdk-headless", "openjdk-25-jdk-headless");
        Ended run = bash("jdk packages", "JAVA_HOME=", "find_jdk", "echo found $JAVA_HOME")
                .succeeds();
        assertThat(run.output())
                .contains("JDK 22 or newer: openjdk-25-jdk-headless\n", "found " + folder.resolve("jdks/new"));
    }

    @Test
    void jdkIsNamedWithNoInstall() throws Exception {
        distributionHasJdks("openjdk-25-jdk-headless");
        Ended run = bash("jdk packages", "JAVA_HOME=", "no_install", "find_jdk");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("--no-install-recommends openjdk-25-jdk-headless\n");
        assertThat(calls()).isEmpty();
    }

    @Test
    void distributionWithoutNewJdkIsNamed() throws Exception {
        distributionHasJdks("openjdk-17-jdk-headless");
        Ended run = bash("jdk packages", "JAVA_HOME=", "find_jdk");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("No JDK 22 or newer found").doesNotContain("Needed for");
        assertThat(calls()).isEqualTo("apt-get update -qq\n");
    }

    /** Ctrl-C reaches all processes of a terminal, and dpkg must not end half way. */
    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM"})
    void signalEndsAScriptAfterItsInstallation(String signal) throws Exception {
        replaceFunctions("packages.sh", "is_root() { true; }");
        Path go = folder.resolve("go");
        stub(
                "apt-get",
                "echo $$ >> \"$CALLS\"; while [[ ! -e '" + go + "' ]]; do sleep 0.02; done; echo whole >> \"$CALLS\"");
        stub("dpkg-query", "exit 1");
        Path output = folder.resolve("output");
        Process script = start(
                output,
                "setsid",
                "bash",
                "-c",
                "set -euo pipefail; . scripts/lib/packages.sh; need_packages building maven; echo and on");
        Await.until("an installation", () -> numbers().size() == 1);
        // as a terminal sends it
        assertThat(run("sh", "-c", "kill -" + signal + " -" + script.pid()).status())
                .isZero();
        Files.createFile(go);
        Ended ended = end(script, output);
        assertThat(calls()).endsWith("whole\n");
        assertThat(ended.status()).as(ended.output()).isEqualTo(signal.equals("INT") ? 130 : 143);
        assertThat(ended.output()).doesNotContain("and on");
    }

    // Builds

    @Test
    void buildsOfOneFolderRunOneAfterTheOther() throws Exception {
        Path go = folder.resolve("go");
        stub("mvn", "echo mvn >> \"$CALLS\"; while [[ ! -e '" + go + "' ]]; do sleep 0.02; done");
        String line =
                "set -euo pipefail; PROJECT=$PWD; for f in jdk packages build; do . scripts/lib/$f.sh; done; build main";
        Path firstOutput = folder.resolve("first");
        Path secondOutput = folder.resolve("second");
        Process first = start(firstOutput, "bash", "-c", line);
        try {
            Await.until("the first build", () -> count() == 1);
            Process second = start(secondOutput, "bash", "-c", line);
            Await.until("the second build waits", () -> count() == 2 || has(secondOutput, "Waiting"));
            Files.createFile(go);
            assertThat(end(first, firstOutput)).isEqualTo(new Ended(0, "Building\n"));
            assertThat(end(second, secondOutput)).isEqualTo(new Ended(0, "Waiting for another build in this folder\n"));
        } finally {
            first.destroyForcibly();
        }
        assertThat(count()).as("the second build finds the work of the first").isEqualTo(1);
    }

    private long count() {
        try {
            return calls().lines().count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean has(Path file, String text) {
        try {
            return Files.readString(file).contains(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void buildInAGuestIsRefused() throws Exception {
        stubTools();
        Ended run = bash("jdk packages build", "export VERBENA_GUEST=1", "build main");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.output()).contains("Build it outside of the guest").doesNotContain("Building\n");
        assertThat(calls()).isEmpty();
    }

    @Test
    void buildPrintsNoEscapeSequences() throws Exception {
        stub("mvn", "printf '\\e[0m\\e[0m'; echo 'an error'; printf '\\e[m'; printf '\\e[0m' >&2");
        assertThat(bash("jdk packages build", "build main")).isEqualTo(new Ended(0, "Building\nan error\n"));
    }

    @Test
    void failedBuildIsRepeated() throws Exception {
        stub("mvn", "echo mvn >> \"$CALLS\"; exit 1");
        for (int tries = 1; tries <= 2; tries++) {
            assertThat(bash("jdk packages build", "build main").status()).isEqualTo(1);
            assertThat(count()).isEqualTo(tries);
        }
    }

    // The cache

    private List<String> cached(String below) throws IOException {
        Path place = folder.resolve("cache").resolve(below);
        if (!Files.exists(place)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(place)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    @Test
    void packagesAreSearchedForInNewerReleasesToo() throws Exception {
        String stubs = """
                debs_sources() { echo "$1" >> tried; }
                debs_apt() { true; }
                look() { if [[ $2 == */backports ]]; then echo "$1-2.0"; fi; }
                """;
        assertThat(bash("cache packages debs", stubs, "search_debs look a && echo \"$FOUND ${DEBS##*/}\"; cat tried"))
                .isEqualTo(new Ended(0, "a-2.0 backports\nown\nbackports\n"));
        assertThat(bash("cache packages debs", stubs, "search_debs true && echo \"none: '$FOUND'\""))
                .isEqualTo(new Ended(0, "none: ''\n"));
    }

    private static final String PACKAGE = """
            mkdir -p package/boot package/lib/modules/6.1.0-9 debs
            echo 'kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko:' > package/lib/modules/6.1.0-9/modules.dep
            echo kernel > package/boot/vmlinuz-6.1.0-9
            touch debs/linux-image.deb
            mkdir -p "$CACHE/kernels"
            dpkg-deb() { tar -c -C package .; }
            depmod() { true; }
            """;

    @Test
    void kernelIsUnpackedIntoTheCache() throws Exception {
        Ended run = bash("cache packages debs kernel", PACKAGE, "kernel_unpack debs");
        assertThat(run).isEqualTo(new Ended(0, "6.1.0-9"));
        assertThat(cached("kernels")).containsExactly("6.1.0-9");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "tar() { command tar \"$@\"; [[ $1 == -c ]]; }",
                "dpkg-deb() { tar -c -C package .; return 1; }",
                "depmod() { return 1; }"
            })
    void cutKernelLeavesNothingInTheCache(String fault) throws Exception {
        Ended run = bash("cache packages debs kernel", PACKAGE, fault, "version=$(kernel_unpack debs) || exit 9");
        assertThat(run.status()).isEqualTo(9);
        assertThat(run.output()).contains("could not unpack linux-image.deb", "is the disk full?");
        assertThat(cached("kernels")).isEmpty();
    }

    /** Writes a bzImage without a boot sector's contents: the fields that the script reads, and a packed kernel. */
    private void writeImage() throws Exception {
        assertThat(run("bash", "-c", "printf kernel | gzip > packed").status()).isZero();
        byte[] packed = Files.readAllBytes(project.resolve("packed"));
        ByteBuffer image = ByteBuffer.allocate(2048 + packed.length + 100_000).order(ByteOrder.LITTLE_ENDIAN);
        image.putInt(584, 1536); // behind the one sector of the boot program
        image.putInt(588, packed.length);
        image.put(2048, packed);
        Files.write(project.resolve("image"), image.array());
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip() { command gzip \"$@\"; return 1; }", ":"})
    void cutVmlinuxLeavesNothingInTheCache(String fault) throws Exception {
        writeImage();
        Ended run = bash(
                        "cache vmlinux",
                        "grep() { true; } # any kernel will do",
                        fault,
                        "uname() { echo x86_64; }",
                        "bootable_kernel 6.1 image")
                .succeeds();
        if (fault.equals(":")) {
            Path file =
                    folder.resolve("cache/vmlinux").resolve(cached("vmlinux").getFirst());
            assertThat(run.output()).isEqualTo(file.toString());
            assertThat(Files.readString(file, StandardCharsets.US_ASCII)).isEqualTo("kernel");
        } else {
            assertThat(run.output()).contains("cannot unpack image").endsWith("image");
            assertThat(cached("vmlinux")).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cp() { command cp \"$@\"; [[ $1 != *rxe* ]]; }",
                "cpio() { cat > /dev/null; echo cut; return 1; }",
                ":"
            })
    void cutInitialFileSystemLeavesNothingInTheCache(String fault) throws Exception {
        Ended run = bash(
                "cache initramfs",
                "echo module > rdma_rxe.ko; echo program > busybox",
                "modprobe() { echo \"insmod $PWD/rdma_rxe.ko\"; }",
                "cpio() { cat; }",
                fault,
                "build_initramfs 6.1 / busybox \"$CACHE/initramfs/file\" || exit 9");
        assertThat(cached("initramfs")).hasSize(fault.equals(":") ? 1 : 0);
        assertThat(run.status()).as(run.output()).isEqualTo(fault.equals(":") ? 0 : 9);
    }

    // A guest

    @ParameterizedTest
    @ValueSource(strings = {"", " < /dev/null"})
    void ctrlCEndsAGuestThatBoots(String input) throws Exception {
        stubQemu("stty -isig 2> /dev/null; echo $$ >> \"$CALLS\"; exec sleep 1000");
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        String line = "TMPDIR=" + temporary + " scripts/soft-roce run --guest echo hello" + input;
        Path output = folder.resolve("output");
        Process terminal = start(output, ProcessBuilder.Redirect.PIPE, "script", "-qefc", line, "/dev/null");
        try {
            Await.until("QEMU", () -> numbers().size() == 1);
            terminal.getOutputStream().write(3);
            terminal.getOutputStream().flush();
            assertThat(end(terminal, output).status())
                    .as(Files.readString(output))
                    .isEqualTo(130);
            Await.until("the end of QEMU", () -> numbers().stream().noneMatch(StubbedScripts::runs));
            assertThat(temporary).isEmptyDirectory();
        } finally {
            numbers().forEach(number -> ProcessHandle.of(number).ifPresent(ProcessHandle::destroyForcibly));
        }
    }

    // Roots of other distributions

    /** Lets the copy of scripts/soft-roce start a stub of QEMU, which tells what the guest would be given. */
    private void guestsAreStubs() throws IOException {
        stubQemu("echo \"qemu $*\" >> \"$CALLS\"; for word; do case $word in local,path=*mount_tag=run*) "
                + "word=${word#local,path=}; word=${word%%,*}; cat \"$word/settings\" \"$word/command\" >> \"$CALLS\"; "
                + "echo 7 > \"$word/status\" ;; esac; done");
    }

    @Test
    void guestOverAnotherRootSeesTheFoldersOfThisMachine() throws Exception {
        guestsAreStubs();
        Path root = folder.resolve("root");
        program(root.resolve("bin/sh"), DONE);
        Ended run = run("scripts/soft-roce", "run", "--root", root.toString(), "true");
        assertThat(run.status()).as(run.output()).isEqualTo(7);
        assertThat(calls())
                .contains("local,path=" + root.toRealPath() + ",mount_tag=host", "local,path=/,mount_tag=machine")
                .contains("FOLDERS='" + folder.resolve("jdk"));
    }

    @Test
    void guestWithoutRootOptionHasTheFileSystemOfThisMachine() throws Exception {
        guestsAreStubs();
        Ended run = run("scripts/soft-roce", "run", "--guest", "true");
        assertThat(run.status()).as(run.output()).isEqualTo(7);
        assertThat(calls()).contains("local,path=/,mount_tag=host").doesNotContain("mount_tag=machine", "FOLDERS");
    }

    /** More devices than this machine has are those of a guest. */
    @Test
    void guestHasTheDevicesOfItsOption() throws Exception {
        guestsAreStubs();
        replaceFunctions("here.sh", "devices_here() { (($1 == 1)); }\ncan_add_device_here() { true; }");
        assertThat(run("scripts/soft-roce", "run", "echo", "here")).isEqualTo(new Ended(0, "here\n"));
        Ended run = run("scripts/soft-roce", "run", "--devices", "2", "true");
        assertThat(run.status()).as(run.output()).isEqualTo(7);
        assertThat(calls()).contains("\nDEVICES=2\n");
        assertThat(run("scripts/soft-roce", "run", "--devices", "0", "true").output())
                .startsWith("soft-roce: --devices must be from 1 to 8, got '0'\n");
        assertThat(run("scripts/soft-roce", "pair", "--devices", "3", "--", "true")
                        .output())
                .startsWith("soft-roce: a guest of a pair has at most two devices\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"run --guest true", "pair -- true"})
    void commandHasTheNewJdkWhereTheDefaultIsOld(String line) throws Exception {
        guestsAreStubs();
        Path old = folder.resolve("old");
        write(old.resolve("release"), "JAVA_VERSION=\"17.0.1\"\n");
        program(old.resolve("bin/java"), DONE);
        program(old.resolve("bin/javac"), DONE);
        replaceFunctions("jdk.sh", "jdk_candidates() { printf '%s\\n' \"$HOME/old\" \"$HOME/jdk\"; }");
        run(("env JAVA_HOME=" + old + " PATH=" + old.resolve("bin") + ":" + programs + ":" + machine
                        + " scripts/soft-roce " + line)
                .split(" "));
        Path jdk = folder.resolve("jdk");
        assertThat(calls()).contains("export JAVA_HOME='" + jdk + "'\n", "export PATH='" + jdk.resolve("bin") + ":");
    }

    @Test
    void jdkOfTheRootIsUsedInItsGuest() throws Exception {
        guestsAreStubs();
        Path root = folder.resolve("root");
        program(root.resolve("bin/sh"), DONE);
        program(root.resolve("usr/lib/jvm/java-26-openjdk-amd64/bin/javac"), DONE);
        Ended run = run("scripts/soft-roce", "run", "--root", root.toString(), "--jdk", "26", "true");
        assertThat(run.status()).as(run.output()).isEqualTo(7);
        assertThat(calls())
                .contains(
                        "export JAVA_HOME=/usr/lib/jvm/java-26-openjdk-amd64 PATH='/usr/lib/jvm/java-26-openjdk-amd64/bin:")
                .contains("FOLDERS=''\n");
        Ended absent = run("scripts/soft-roce", "run", "--root", root.toString(), "--jdk", "27", "true");
        assertThat(absent)
                .isEqualTo(new Ended(125, "soft-roce: " + root.toRealPath() + " has no JDK 27 in /usr/lib/jvm\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--root Sid", "--root 12", "--arch riscv64", "--jdk 26", "--root sid --jdk x"})
    void invalidRootsAreRefused(String options) throws Exception {
        Ended run = run(("scripts/soft-roce run " + options + " true").split(" "));
        assertThat(run.status()).as(run.output()).isEqualTo(2);
    }

    // A device of this machine

    /** Lets the copy of scripts/soft-roce believe that it runs as root on a machine without device. */
    private void withoutDevice() throws IOException {
        replaceFunctions(
                "here.sh",
                "device_here() { false; }\ncapable() { true; }\ndriver_loaded() { grep -qx rdma_rxe \"$HOME/modules\"; }"
                        + "\nloaded_modules() { cat \"$HOME/modules\"; }");
        replaceFunctions("guest.sh", "run_in_guest() { shift; echo \"in a guest: $*\"; }");
        Path script = project.resolve("scripts/soft-roce");
        Files.writeString(script, Files.readString(script).replace("\nmain \"$@\"", "\nprepare() { :; }\nmain \"$@\""));
        stub("rdma", "echo \"rdma $*\" >> \"$CALLS\"");
        stub("ip", "echo \"ip $*\" >> \"$CALLS\"");
        stub("modprobe", """
                name=${!#}
                case " $* " in
                    *" -n "*) ;;
                    *" -D "*) echo "insmod /lib/modules/6.1/$name.ko.xz" ;;
                    *) sed -i "1i$name" "$HOME/modules" ;;
                esac""");
        stub("rmmod", "echo \"rmmod $1\" >> \"$CALLS\"; sed -i \"/^$1\\$/d\" \"$HOME/modules\"");
    }

    @Test
    void deviceThatCannotBeAddedIsReplacedByAGuest() throws Exception {
        withoutDevice();
        write(folder.resolve("modules"), "rdma_rxe\n");
        stub("ip", "if [[ $1 == link ]]; then echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2; fi");
        Ended run = run("scripts/soft-roce", "run", "--", "echo", "hello").succeeds();
        assertThat(run.output())
                .contains("cannot add a soft-RoCE device to this machine: RTNETLINK answers: Operation not permitted")
                .endsWith("in a guest: echo hello\n");
    }

    @Test
    void rootWithoutTheRightToAddADeviceUsesAGuest() throws Exception {
        withoutDevice();
        write(folder.resolve("modules"), "rdma_rxe\n");
        replaceFunctions("here.sh", "capable() { false; }");
        assertThat(run("scripts/soft-roce", "run", "echo", "hello"))
                .isEqualTo(new Ended(0, "in a guest: echo hello\n"));
        assertThat(calls()).isEmpty();
    }

    @Test
    void addedDeviceIsRemovedWithTheModulesLoadedForIt() throws Exception {
        withoutDevice();
        write(folder.resolve("modules"), "ib_uverbs\next4\n");
        replaceFunctions("here.sh", "make_device_here() { modprobe dummy; modprobe rdma_rxe; modprobe zram; }");
        Ended run = run("scripts/soft-roce", "run", "--", "sh", "-c", "echo with $VERBENA_ADDRESS")
                .succeeds();
        assertThat(run.output()).contains("loading the kernel module rdma_rxe", "--no-install", "with 10.9.9.1\n");
        assertThat(Files.readString(folder.resolve("modules"))).isEqualTo("zram\nib_uverbs\next4\n");
        assertThat(calls()).contains("rdma link delete rxe_vrb", "ip link delete vrb", "rmmod rdma_rxe\nrmmod dummy\n");
    }

    @Test
    void noInstallLoadsNoModule() throws Exception {
        withoutDevice();
        write(folder.resolve("modules"), "ext4\n");
        assertThat(run("scripts/soft-roce", "run", "--no-install", "--", "echo", "hello"))
                .isEqualTo(new Ended(0, "in a guest: echo hello\n"));
        assertThat(Files.readString(folder.resolve("modules"))).isEqualTo("ext4\n");
    }

    // Two guests

    /** Lets guests of a pair be processes of this machine, without QEMU's monitor. */
    private void withoutQemu() throws IOException {
        replaceFunctions("guest.sh", """
                initramfs_for() { :; }
                bootable_kernel() { :; }
                guest_accel() { :; }
                boot() {
                    local status=0 share
                    GUEST_FOLDER=$(mktemp -d "$TMPDIR/soft-roce.XXXXXX")
                    share=$GUEST_FOLDER/share
                    mkdir "$share"
                    guest_settings > "$share/settings"
                    touch "$share/started"
                    until [[ -e $share/go ]]; do sleep 0.05; done
                    { guest_command "$@" | bash; } |& "${COPY[@]}" || status=$?
                    echo "$status" > "$share/status"
                    until [[ -e $share/end || -s $TMPDIR/fate ]]; do sleep 0.05; done
                }""");
        replaceFunctions("pair.sh", """
                is_running() { ! [[ -e $PAIR/$1/killed ]]; }
                qmp() { echo "qmp $*" >> "$CALLS"; touch "$PAIR/$1/qmp.ready"; }
                order() { echo "order $*" >> "$CALLS"; }
                cut_power() { echo "$2" > "$PAIR/$1/fate"; }""");
        Path script = project.resolve("scripts/soft-roce");
        Files.writeString(script, Files.readString(script).replace("\nmain \"$@\"", "\nprepare() { :; }\nmain \"$@\""));
    }

    @Test
    void pairTellsTheOutputOfItsGuestsApartAndReturnsTheGreaterStatus() throws Exception {
        withoutQemu();
        String side =
                "echo $VERBENA_SIDE $VERBENA_ADDRESS $VERBENA_PEER $VERBENA_LINK_PEER; printf 'no newline'; exit ";
        Ended run = run("scripts/soft-roce", "pair", "--", "sh", "-c", side + 3, "--", "sh", "-c", side + 1);
        assertThat(run.status()).as(run.output()).isEqualTo(3);
        assertThat(run.output().lines().skip(1))
                .containsExactlyInAnyOrder(
                        "a: a 192.0.2.1 192.0.2.2 198.51.100.2",
                        "a: no newline",
                        "b: b 192.0.2.2 192.0.2.1 198.51.100.1",
                        "b: no newline");
        assertThat(cached("pairs")).isEmpty();
    }

    @Test
    void requestThatComesInPartsIsReadWhole() throws Exception {
        Ended run = bash(
                "cache pair",
                "mkfifo requests; exec 5<> requests",
                "printf 'a 1 th' >&5; next_request 5 || echo none",
                "printf 'aw b\\nb 2 wire up\\n' >&5",
                "next_request 5; echo ${WORDS[*]}; next_request 5; echo ${WORDS[*]}; next_request 5 || echo none");
        assertThat(run).isEqualTo(new Ended(0, "none\na 1 thaw b\nb 2 wire up\nnone\n"));
    }

    @Test
    void pairRunsOneCommandInBothGuests() throws Exception {
        withoutQemu();
        Ended run = run("scripts/soft-roce", "pair", "--loss", "1.5", "--", "sh", "-c", "echo in $VERBENA_SIDE");
        assertThat(run.output()).contains("a: in a\n", "b: in b\n");
        assertThat(run.status()).isZero();
    }

    @Test
    void faultsReachBothGuestsOfAPair() throws Exception {
        withoutQemu();
        String faults = String.join(
                "; ",
                "unset VERBENA_SIDE", // as a shell of the machine
                "scripts/soft-roce wire down a",
                "scripts/soft-roce wire up",
                "scripts/soft-roce wire --loss 5 --duplicate 1% --reorder 2",
                "scripts/soft-roce wire clear",
                "scripts/soft-roce freeze b",
                "scripts/soft-roce thaw b");
        run("scripts/soft-roce", "pair", "--", "sh", "-c", faults, "--", "true").succeeds();
        assertThat(calls().lines())
                .containsExactly(
                        "qmp a set_link \"name\":\"e0\",\"up\":false",
                        "qmp a set_link \"name\":\"e0\",\"up\":true",
                        "qmp b set_link \"name\":\"e0\",\"up\":true",
                        "order a netem limit 100000 delay 5ms loss 5% duplicate 1% reorder 2%",
                        "order b netem limit 100000 delay 5ms loss 5% duplicate 1% reorder 2%",
                        "order a clear",
                        "order b clear",
                        "qmp b stop",
                        "qmp b cont");
    }

    @Test
    void rebootedGuestRunsItsCommandAgainAndAKilledOneCounts() throws Exception {
        withoutQemu();
        Ended run = run(
                        "scripts/soft-roce",
                        "pair",
                        "--",
                        "sh",
                        "-c",
                        "unset VERBENA_SIDE; scripts/soft-roce reboot b",
                        "--",
                        "sh",
                        "-c",
                        "echo boot $VERBENA_BOOT")
                .succeeds();
        assertThat(run.output()).contains("b: boot 1\n", "soft-roce: guest b: starting again\n", "b: boot 2\n");
        run = run("scripts/soft-roce", "pair", "--", "sh", "-c", "unset VERBENA_SIDE; scripts/soft-roce kill b");
        assertThat(run.status()).as(run.output()).isEqualTo(137);
    }

    @Test
    void faultWithoutAPairSaysSoAndRemovesWhatAKilledOneLeft() throws Exception {
        Path left = folder.resolve("cache/pairs/7");
        write(left.resolve("lock"), "");
        Ended run = run("scripts/soft-roce", "wire", "down");
        assertThat(run).isEqualTo(new Ended(2, "soft-roce: no pair runs: start one with 'scripts/soft-roce pair'\n"));
        assertThat(left).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "pair",
                "pair --",
                "pair -- true --",
                "pair --loss 101 -- true",
                "pair --delay x -- true",
                "wire",
                "wire down c",
                "wire --loss",
                "freeze",
                "freeze a 0",
                "kill a b",
                "reboot"
            })
    void wrongFaultIsRefused(String line) throws Exception {
        Ended run = run(("scripts/soft-roce " + line).split(" "));
        assertThat(run.status()).as(run.output()).isEqualTo(2);
        assertThat(run.output()).startsWith("soft-roce: ").contains("usage: ");
    }
}
