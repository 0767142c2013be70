package dev.verbena.support;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The output of {@code ibv_devinfo -v} for the test device. */
public final class Devinfo {
    private static final Pattern LINE = Pattern.compile("\\s*(\\w+(?:\\[\\s*\\d+])?):\\s+(.*?)\\s*");

    private final List<String[]> lines = new ArrayList<>();

    private Devinfo(String output) {
        for (String line : output.lines().toList()) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                lines.add(new String[] {matcher.group(1).replace(" ", ""), matcher.group(2)});
            }
        }
    }

    public static Devinfo of(String device) throws IOException {
        Process process = new ProcessBuilder("ibv_devinfo", "-v", "-d", device)
                .redirectErrorStream(true)
                .start();
        return new Devinfo(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    }

    /** Returns the text behind the first occurrence of a name. */
    public String text(String name) {
        return lines.stream()
                .filter(line -> line[0].equals(name))
                .map(line -> line[1])
                .findFirst()
                .orElseThrow(() -> new AssertionError("ibv_devinfo says nothing about " + name));
    }
}
