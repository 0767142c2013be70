package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Runs {@code report}, and searches its files for what identifies the machine. */
public final class ReportChecks {
    private ReportChecks() {}

    /** Makes a report with both ends on this machine. Returns the page and the JSON file. */
    static List<String> self(String name, String... more) throws IOException {
        return report(name, List.of(more));
    }

    /** Makes a report with the other end in another thread, as on another machine. */
    static List<String> withPeer(String name, String... more) throws Exception {
        String port = String.valueOf(Listening.freePort());
        FutureTask<ToolRun> server = new FutureTask<>(() -> ToolRun.of(
                "report", "--server", "-p", port, "-d", TestDevice.get().name()));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(Integer.parseInt(port), server);
        List<String> files = to("127.0.0.1", port, name, more);
        server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS).succeeds();
        return files;
    }

    /** Makes a report with a machine that serves one. Returns the page and the JSON file. */
    public static List<String> to(String host, String port, String name, String... more) throws IOException {
        List<String> line = new ArrayList<>(List.of(more));
        line.addAll(List.of("--peer", host, "-p", port));
        return report(name, line);
    }

    private static List<String> report(String name, List<String> more) throws IOException {
        // in the project, because a guest keeps no other files
        Path file = Files.createDirectories(Path.of("target/test-pages")).resolve(name);
        List<String> line =
                new ArrayList<>(List.of("report", "-d", TestDevice.get().name(), "-o", file.toString()));
        if (!more.contains("--quick")) {
            line.addAll(List.of("-n", "20", "--rounds", "1", "--skip", "bench,tests"));
        }
        line.addAll(more);
        ToolRun run = ToolRun.of(line.toArray(String[]::new));
        assertThat(run.out()).as(run.toString()).contains("wrote " + file + ".html and " + file + ".json");
        List<String> files =
                List.of(Files.readString(Path.of(file + ".html")), Files.readString(Path.of(file + ".json")));
        for (String text : files) {
            assertNothingOfTheMachineIn(text);
        }
        return files;
    }

    /** Searches independently of what {@link Redaction} knows and does. */
    private static void assertNothingOfTheMachineIn(String text) throws IOException {
        List<String> secrets = new ArrayList<>();
        for (NetworkInterface network : NetworkInterface.networkInterfaces().toList()) {
            for (InetAddress address : network.inetAddresses().toList()) {
                secrets.add(address.getHostAddress().replaceFirst("%.*", ""));
            }
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            context.gids().forEach(entry -> secrets.add(entry.gid().toString()));
            secrets.add(context.attributes().nodeGuid().toString());
        }
        secrets.removeIf(secret -> secret.replaceAll("[0:.]", "").length() < 2); // such as ::1
        assertThat(secrets).isNotEmpty().allSatisfy(secret -> assertThat(text).doesNotContainIgnoringCase(secret));
        String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        if (host.length() > 1) { // the guests of a pair are a and b, which are words too
            assertThat(text).doesNotContainPattern("(?<![\\w-])" + host + "(?![\\w-])");
        }
        assertThat(text).doesNotContainPattern("(?i)[lr]key(:| )+(0x)?[0-9a-f]+");
    }
}
