package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the kernel keeps for this process, as {@code rdma resource show} of iproute2 lists it. */
public final class Resources {
    private static final Pattern ENTRY = Pattern.compile("\\{[^{}]*}");
    private static final Pattern PID = Pattern.compile("\"pid\":(\\d+)");
    private static final List<String> KINDS = List.of("qp", "cq", "pd", "mr", "srq", "cm_id", "ctx");

    private Resources() {}

    /** Each with its kind; empty if nothing is left. */
    public static List<String> ofThisProcess() throws IOException {
        List<String> ours = new ArrayList<>();
        for (String kind : KINDS) {
            for (String entry : show(kind)) {
                Matcher pid = PID.matcher(entry);
                if (pid.find() && Long.parseLong(pid.group(1)) == ProcessHandle.current().pid()) {
                    ours.add(kind + " " + entry);
                }
            }
        }
        return ours;
    }

    /** Waits until some process listens on a port of the connection manager. */
    public static void awaitListener(int port) {
        Pattern listener = Pattern.compile("\"state\":\"LISTEN\".*\"src-addr\":\"[^\"]*:" + port + "\"");
        Await.until("a listener on port " + port, () -> {
            try {
                return show("cm_id").stream().anyMatch(entry -> listener.matcher(entry).find());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static List<String> show(String kind) throws IOException {
        Process process = new ProcessBuilder("rdma", "-j", "resource", "show", kind).redirectErrorStream(true).start();
        return ENTRY.matcher(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)).results()
                .map(MatchResult::group).toList();
    }
}
