package dev.verbena.support;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
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
            Process process = new ProcessBuilder("rdma", "-j", "resource", "show", kind).redirectErrorStream(true).start();
            Matcher entries = ENTRY.matcher(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            while (entries.find()) {
                Matcher pid = PID.matcher(entries.group());
                if (pid.find() && Long.parseLong(pid.group(1)) == ProcessHandle.current().pid()) {
                    ours.add(kind + " " + entries.group());
                }
            }
        }
        return ours;
    }
}
