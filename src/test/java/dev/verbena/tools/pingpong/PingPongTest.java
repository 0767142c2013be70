package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the ping-pongs with those of rdma-core: each kind of queue pair on one side, for what the two sides say to each other is
 * the same for all kinds. {@code PingPongOnTheFencedProviderTest} has them with each other, with more options.
 */
@DeviceTest
class PingPongTest {
    private static String gidIndex;

    @TempDir
    Path folder;

    @BeforeAll
    static void chooseGid() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            gidIndex = String.valueOf(context.bestGid(1).index());
        }
    }

    /** A running program: a Java tool in this JVM, or a C tool. */
    private record Running(FutureTask<ToolRun> end) {
        static Running java(List<String> args) {
            FutureTask<ToolRun> task = new FutureTask<>(() -> ToolRun.of(args.toArray(String[]::new)));
            Thread.ofPlatform().daemon().name(args.getFirst()).start(task);
            return new Running(task);
        }

        static Running c(List<String> command, Path output) throws IOException {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            FutureTask<ToolRun> task = new FutureTask<>(() -> {
                if (process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                    return new ToolRun(process.exitValue(), Files.readString(output), "");
                }
                String where = Files.readString(Path.of("/proc", String.valueOf(process.pid()), "stack"));
                process.destroyForcibly();
                return new ToolRun(-1, Files.readString(output), "did not end: " + where);
            });
            Thread.ofPlatform().daemon().start(task);
            return new Running(task);
        }

        boolean isAlive() {
            return !end.isDone();
        }

        ToolRun result() throws Exception {
            return end.get(2 * Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    private Running start(boolean java, String kind, int port, List<String> more) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                java ? kind + "-pingpong" : "ibv_" + kind + "_pingpong",
                "-d",
                TestDevice.get().name(),
                "-g",
                gidIndex,
                "-p",
                String.valueOf(port)));
        command.addAll(more);
        return java ? Running.java(command) : Running.c(command, folder.resolve(kind + port + more.size()));
    }

    private void play(String game, boolean javaServes, boolean javaCalls) throws Exception {
        int port = Listening.freePort();
        String kind = game.split(" ")[0];
        List<String> more = List.of(game.substring(kind.length() + 1).split(" "));
        Running server = start(javaServes, kind, port, more);
        Listening.await(port, server::isAlive);
        List<String> client = new ArrayList<>(more);
        client.add("127.0.0.1");
        ToolRun called = start(javaCalls, kind, port, client).result();
        ToolRun served = server.result();
        String both = "server: " + served + "\nclient: " + called;
        assertThat(called.status()).as(both).isZero();
        assertThat(served.status()).as(both).isZero();
        // one side's local address is the other's remote address, and both print the same lines
        assertThat(lines(served, "  local")).as(both).isNotEmpty().isEqualTo(lines(called, "  remote"));
        assertThat(lines(served, "  remote")).as(both).isEqualTo(lines(called, "  local"));
        assertThat(shape(served)).as(both).isEqualTo(shape(called)).doesNotContain("invalid data");
    }

    private static List<String> lines(ToolRun run, String start) {
        return run.out()
                .lines()
                .filter(line -> line.startsWith(start))
                .map(line -> line.replaceFirst(".*address:", "")
                        .replaceFirst("(PSN 0x[0-9a-f]{6})[:,]", "$1")
                        .strip())
                .toList();
    }

    /** Returns the output without its numbers. */
    private static String shape(ToolRun run) {
        return run.out().replaceAll("0x[0-9a-f]+", "N").replaceAll("[0-9]+\\.[0-9]+ ", "X ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"rc -n 5 -c -s 65536 -m 256 -r 3 -e", "ud -n 5 -c -s 1024 -e"})
    void javaClientPlaysWithTheCServer(String game) throws Exception {
        play(game, false, true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rc -n 3 -c -s 1048576 -N", "uc -n 5 -c -s 65536", "srq -n 5 -c -s 4096 -q 2"})
    void javaServerPlaysWithTheCClient(String game) throws Exception {
        play(game, true, false);
    }

    @Test
    void unsupportedOptionPrintsOneLine() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            if (context.attributes().timestampMask() == 0) {
                refused("-t");
            }
            if (context.attributes().maxDeviceMemory() == 0) {
                refused("-j");
            }
            if (!context.attributes().onDemandPaging().isSupported()) {
                refused("-o");
            }
        }
    }

    private static void refused(String option) {
        ToolRun run = ToolRun.of("rc-pingpong", option, "127.0.0.1");
        assertThat(run.status()).as(run.toString()).isEqualTo(Tool.FAILED);
        assertThat(run.err()).startsWith("verbena rc-pingpong: ibv_").hasLineCount(1);
    }
}
