package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs commands in a guest that stays. The stub of QEMU is the guest's first program itself, so that the commands run on this
 * machine.
 */
class KeptGuestTest extends StubbedScripts {
    private final List<Process> started = new ArrayList<>();

    @BeforeEach
    void qemuRunsTheCommands() throws IOException {
        stubQemu("""
                exec 7>&- # the lock: in place of a guest's, commands are processes of this machine
                echo $$ >> "$CALLS"
                for word; do
                    value=${word#*path=}
                    case $word in
                        local,*,mount_tag=run,*) share=${value%%,*} ;;
                        file,*,id=out) out=${value%%,*} ;;
                        file,*,id=err) err=${value%%,*} ;;
                    esac
                done
                sed -i "s|/run/verbena/bin/busybox mount|true|; s|'/run/verbena/commands'|$HOME/commands|
                    s|/proc/sys/vm/drop_caches|$HOME/caches|" "$share/command"
                touch "$share/started"
                exec sh "$share/command" > "$out" 2> "$err"
                """);
    }

    @AfterEach
    void endAll() throws Exception {
        bash("cache kept", "down");
        started.forEach(Process::destroyForcibly);
        commands().forEach(number -> ProcessHandle.of(number).ifPresent(ProcessHandle::destroyForcibly));
    }

    private Ended up(String... options) throws Exception {
        List<String> words = new ArrayList<>(List.of("scripts/soft-roce", "up"));
        words.addAll(List.of(options));
        Ended up = run(words.toArray(new String[0]));
        assertThat(up.status()).as(up.output()).isZero();
        return up;
    }

    private Process command(Path output, String line) throws IOException {
        Process process = start(output, "scripts/soft-roce", "run", "sh", "-c", line);
        started.add(process);
        return process;
    }

    /** Returns the processes of commands, each of which writes its number to a file. */
    private List<Long> commands() {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.matches("pid\\..*\\d"))
                    .map(name -> Long.valueOf(name.substring(4)))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A command that stays, with a process of its own group. */
    private static final String STAYS = "touch $HOME/pid.$$; sh -c 'touch $HOME/pid.$$; sleep 1000; :'; :";

    private void awaitStays() {
        Await.until("the command", () -> commands().size() == 2);
    }

    private void awaitEnd() {
        Await.until("the end of the command", () -> commands().stream().noneMatch(StubbedScripts::runs));
    }

    private String statusLine() throws Exception {
        return run("scripts/soft-roce", "status")
                .output()
                .lines()
                .filter(line -> line.startsWith("guest that stays:"))
                .findFirst()
                .orElseThrow()
                .replaceFirst(".*: +", "");
    }

    /** Returns the same line without all others, which take most of the time. */
    private String keptStatus() throws Exception {
        return bash("cache kept", "kept_status").output().strip();
    }

    private void awaitStatus(String pattern) {
        Await.until("the status of the guest", () -> keptStatus().matches(pattern));
    }

    private Path guests() {
        return folder.resolve("cache/guests");
    }

    @Test
    void commandsRunAtTheSameTimeAndReturnTheirStatus() throws Exception {
        up();
        assertThat(run("mkfifo", folder.resolve("meeting").toString()).status()).isZero();
        Path first = folder.resolve("first");
        Path second = folder.resolve("second");
        Process reader = command(first, "read -r word < $HOME/meeting; echo \"read $word\"; exit 3");
        Process writer = command(second, "echo hello > $HOME/meeting; kill -KILL $$");
        assertThat(end(reader, first)).isEqualTo(new Ended(3, "read hello\n"));
        assertThat(end(writer, second)).isEqualTo(new Ended(137, ""));
        assertThat(numbers()).as("guests").hasSize(1);
        assertThat(Files.readString(folder.resolve("caches")))
                .as("changed files are seen")
                .isEqualTo("2");
    }

    @Test
    void streamsArriveAsTheyAre() throws Exception {
        up();
        byte[] bytes = new byte[500_000];
        new Random(1).nextBytes(bytes);
        Files.write(folder.resolve("bytes"), bytes);
        Ended run = run(
                "sh",
                "-c",
                "scripts/soft-roce run sh -c 'cat; echo said >&2' < $HOME/bytes > $HOME/copy 2> $HOME/said; "
                        + "scripts/soft-roce run sh -c 'echo $HOME $VERBENA_DEVICE; pwd; cat' < /dev/null");
        assertThat(run).isEqualTo(new Ended(0, folder + " rxe0\n" + project + "\n"));
        assertThat(Files.readAllBytes(folder.resolve("copy"))).isEqualTo(bytes);
        assertThat(Files.readString(folder.resolve("said"))).isEqualTo("said\n");
    }

    /** The command's output ends with its reader, and its input without one. */
    @Test
    void brokenPipesEndCommands() throws Exception {
        up();
        Ended run = run("sh", "-c", "scripts/soft-roce run yes | head -n 1; yes | scripts/soft-roce run head -n 1");
        assertThat(run).isEqualTo(new Ended(0, "y\ny\n"));
    }

    @Test
    void terminalIsConnected() throws Exception {
        up();
        Ended run = run(
                "script",
                "-qefc",
                "stty rows 30 cols 100; scripts/soft-roce run sh -c 'stty size; test -t 0 && exit 5'",
                "/dev/null");
        assertThat(run.output()).contains("30 100\r\n"); // the terminal may echo the end of script's input behind it
        assertThat(run.status()).isEqualTo(5);
    }

    @Test
    void commandOfAKilledClientEnds() throws Exception {
        up();
        Process client = command(folder.resolve("output"), STAYS);
        awaitStays();
        client.destroyForcibly();
        awaitEnd();
        awaitStatus("kernel .*, rxe0; ends in \\d+ s without a command");
    }

    /** Kills QEMU, the script that has started it, and the keeper of both. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 3})
    void guestThatIsKilledLeavesNothing(int parent) throws Exception {
        up();
        Path output = folder.resolve("output");
        Process client = command(output, STAYS);
        awaitStays();
        ProcessHandle victim = ProcessHandle.of(numbers().getFirst()).orElseThrow();
        for (int i = 0; i < parent; i++) {
            victim = victim.parent().orElseThrow();
        }
        victim.destroyForcibly();
        assertThat(end(client, output))
                .isEqualTo(new Ended(125, "soft-roce: the guest ended before the command did\n"));
        Await.until("the end of QEMU", () -> !runs(numbers().getFirst()));
        Await.until("the end of its files", () -> isEmpty(guests()));
        awaitStatus("none");
        up();
        assertThat(run("scripts/soft-roce", "run", "echo", "again")).isEqualTo(new Ended(0, "again\n"));
    }

    /** Returns where the keeper listens. */
    private Path socket() {
        try (Stream<Path> own = Files.list(guests())) {
            return own.findFirst().orElseThrow().resolve("socket");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isEmpty(Path place) {
        try (Stream<Path> files = Files.list(place)) {
            return files.findAny().isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All processes were killed at once, as with a machine. */
    @Test
    void filesOfAKilledGuestDoNotMatter() throws Exception {
        up();
        Path socket = socket();
        run("scripts/soft-roce", "down");
        write(socket, "");
        write(socket.resolveSibling("options"), "memory 1\n");
        assertThat(keptStatus()).isEqualTo("none");
        up();
        assertThat(run("scripts/soft-roce", "run", "echo", "again")).isEqualTo(new Ended(0, "again\n"));
    }

    @Test
    void downEndsTheGuestAndItsCommands() throws Exception {
        up();
        assertThat(statusLine()).matches("kernel 6\\.1, rxe0; ends in \\d+ s without a command");
        Path output = folder.resolve("output");
        Process client = command(output, STAYS);
        awaitStays();
        assertThat(statusLine()).isEqualTo("kernel 6.1, rxe0; a command runs");
        assertThat(run("scripts/soft-roce", "down").status()).isZero();
        assertThat(end(client, output).status()).isEqualTo(125);
        assertThat(runs(numbers().getFirst())).isFalse();
        assertThat(guests()).isEmptyDirectory();
        assertThat(statusLine()).isEqualTo("none");
        assertThat(run("scripts/soft-roce", "down")).isEqualTo(new Ended(0, "soft-roce: no guest stays\n"));
    }

    @Test
    void guestEndsWithoutCommands() throws Exception {
        Path output = folder.resolve("up");
        Process up = start(output, "scripts/soft-roce", "up", "--idle", "1");
        Await.until("the keeper", () -> Files.exists(guests()) && !isEmpty(guests()) && Files.exists(socket()));
        Process client;
        try (SocketChannel waiting = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
            assertThat(end(up, output).status()).isZero();
            client = command(output, "touch $HOME/pid.$$; sleep 2");
            Await.until("the command", () -> commands().size() == 1);
            assertThat(waiting.isConnected()).isTrue(); // without it, the guest could have ended
        }
        assertThat(end(client, output).status())
                .as("a command that takes longer")
                .isZero();
        awaitStatus("none"); // to ask is no use of the guest
        assertThat(guests()).isEmptyDirectory();
        Await.until("the end of QEMU", () -> !runs(numbers().getFirst()));
    }

    @Test
    void secondUpFindsTheGuestOfTheFirst() throws Exception {
        Path first = folder.resolve("first");
        Path second = folder.resolve("second");
        Process one = start(first, "scripts/soft-roce", "up");
        Process other = start(second, "scripts/soft-roce", "up");
        assertThat(end(one, first).status()).as(Files.readString(first)).isZero();
        assertThat(end(other, second).status()).as(Files.readString(second)).isZero();
        assertThat(numbers()).as("guests").hasSize(1);
        Ended third = run("scripts/soft-roce", "up", "--memory", "4096");
        assertThat(third.status()).isEqualTo(125);
        assertThat(third.output()).contains("a guest stays that has other options");
    }

    @Test
    void optionsThatAskForAnotherGuestStartOne() throws Exception {
        up("--devices", "1");
        stub("qemu-stub", "echo no >&2; exit 1");
        for (String same : List.of("--guest", "--devices 1 --memory 2048 --cpus 1 --timeout 100")) {
            Ended run = run(("scripts/soft-roce run " + same + " true").split(" "));
            assertThat(run).as(same).isEqualTo(new Ended(0, ""));
        }
        for (String option : List.of("--fresh", "--memory 4096", "--devices 2", "--parallel")) {
            Ended run = run(("scripts/soft-roce run " + option + " true").split(" "));
            assertThat(run.status()).as(option).isEqualTo(125);
            assertThat(run.output()).as(option).contains("QEMU did not start");
        }
    }

    @Test
    void otherFolderOfTheProjectHasItsOwnGuest() throws Exception {
        up();
        Path other = folder.resolve("other");
        assertThat(run("cp", "-a", project.toString(), other.toString()).status())
                .isZero();
        assertThat(run(other + "/scripts/soft-roce", "status").output()).containsPattern("guest that stays: +none\n");
    }

    /** A client that meets the end of the guest starts one of its own. */
    @Test
    void commandRunsThoughTheGuestJustEnds() throws Exception {
        up();
        Path lock = Files.list(folder.resolve("cache/locks"))
                .filter(file -> file.getFileName().toString().startsWith("guest-"))
                .findFirst()
                .orElseThrow();
        run("scripts/soft-roce", "down");
        stub("qemu-stub", "echo another >> \"$CALLS\"; exit 1");
        Ended run = run("flock", lock.toString(), "scripts/soft-roce", "run", "true");
        assertThat(run.status()).as(run.output()).isEqualTo(125);
        assertThat(calls()).endsWith("another\n");
    }

    /** A command that notes its process, and repeats a line of its input. */
    private static final String SPARE = "touch $HOME/pid.$$; read -r line; echo $$ $line";

    /** Runs it as one that may have been started ahead. */
    private Ended spare(String environment) throws Exception {
        return run("sh", "-c", "echo typed | " + environment + " scripts/soft-roce run --spare sh -c '" + SPARE + "'");
    }

    /** Returns the process that was started ahead: the only one of its kind that has not ended. */
    private long waiting() {
        Await.until("one process that waits", () -> living().size() == 1);
        return living().getFirst();
    }

    private List<Long> living() {
        return commands().stream().filter(StubbedScripts::runs).toList();
    }

    /** Waits until a process has a weight among those that want a processor, and among those that a lack of memory ends. */
    private void awaitWeights(long process, String processor, String memory) {
        Await.until("the weights", () -> {
            try (Stream<Path> groups = Files.list(folder.resolve("commands/groups"))) {
                Path own = groups.filter(group -> holds(group.resolve("cgroup.procs"), process + ""))
                        .findFirst()
                        .orElseThrow();
                return holds(own.resolve("cpu.weight"), processor)
                        && holds(Path.of("/proc/" + process + "/oom_score_adj"), memory);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static boolean holds(Path file, String text) {
        try {
            return Files.exists(file) && Files.readString(file).strip().equals(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void nextRunOfACommandTakesTheProcessThatWasStartedAhead() throws Exception {
        up();
        String first = spare("").output();
        long waiting = waiting();
        assertThat(first).isNotEqualTo(waiting + " typed\n");
        awaitWeights(waiting, "1", "1000");
        assertThat(keptStatus()).matches(".*; ends in \\d+ s without a command");

        Path output = folder.resolve("second");
        Process second =
                start(output, ProcessBuilder.Redirect.PIPE, "scripts/soft-roce", "run", "--spare", "sh", "-c", SPARE);
        started.add(second);
        Await.until("another process that waits", () -> living().size() == 2);
        awaitWeights(waiting, "100", "0"); // as for any command
        second.outputWriter().append("typed\n").close();
        assertThat(end(second, output)).isEqualTo(new Ended(0, waiting + " typed\n"));
        assertThat(waiting()).isNotEqualTo(waiting);
    }

    @Test
    void otherCommandEndsTheProcessThatWasStartedAhead() throws Exception {
        up();
        spare("");
        long waiting = waiting();
        assertThat(spare("VERBENA_OTHER=1").output()).isNotEqualTo(waiting + " typed\n");
        Await.until("the end of the old one", () -> !runs(waiting));
        waiting();
    }

    @Test
    void processThatHasEndedIsNotTaken() throws Exception {
        up();
        spare("");
        long waiting = waiting();
        assertThat(run("sh", "-c", "kill -KILL " + waiting).status()).isZero();
        assertThat(spare("")).matches(run -> run.status() == 0 && run.output().matches("\\d+ typed\n"));
        assertThat(waiting()).isNotEqualTo(waiting);
    }

    @Test
    void processThatWasTakenEndsWithItsClient() throws Exception {
        up();
        spare("");
        long waiting = waiting();
        Process client = start(
                folder.resolve("second"),
                ProcessBuilder.Redirect.PIPE,
                "scripts/soft-roce",
                "run",
                "--spare",
                "sh",
                "-c",
                SPARE);
        started.add(client);
        Await.until("another process that waits", () -> living().size() == 2);
        client.destroyForcibly();
        Await.until("the end of the first one", () -> !runs(waiting));
    }

    /** Without a build of the tools, or with an old one, the shell builds first. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void agentOfTheNextShellStartsIfTheToolsAreBuilt(boolean built) throws Exception {
        program(
                folder.resolve("jdk/bin/java"),
                "echo \"agent ${@: -1}\" >> $HOME/calls; touch $HOME/pid.$$; read -r line");
        write(folder.resolve("jdk/release"), "JAVA_VERSION=\"24.0.1\"\n"); // which has no cache
        write(project.resolve("pom.xml"), "<project><version>1</version></project>");
        if (built) {
            write(project.resolve("target/verbena-1-tools.jar"), "");
            write(project.resolve("target/built-tools"), "");
        }
        up();
        if (built) {
            waiting();
        }
        assertThat(calls().contains("agent dev.verbena.tools.shell.Agent")).isEqualTo(built);
    }

    @Test
    void guestThatDoesNotStartIsExplained() throws Exception {
        stub("qemu-stub", "echo 'no memory' >&2; exit 1");
        Ended up = run("scripts/soft-roce", "up");
        assertThat(up.status()).isEqualTo(125);
        assertThat(up.output()).contains("QEMU did not start", "no memory");
        assertThat(guests()).isEmptyDirectory();
        assertThat(keptStatus()).isEqualTo("none");
    }
}
