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

    /** Returns a number: decimal, hexadecimal, or the code in parentheses behind a word. */
    public long number(String name) {
        String text = text(name);
        int bracket = text.indexOf('(');
        if (bracket >= 0) {
            return Long.parseLong(text.substring(bracket + 1, text.indexOf(')')));
        }
        return text.startsWith("0x") ? Long.parseUnsignedLong(text.substring(2), 16) : Long.parseLong(text);
    }

    /** Returns the GIDs as {@code index address, type}. */
    public List<String> gids() {
        return lines.stream()
                .filter(line -> line[0].startsWith("GID["))
                .map(line -> line[0].substring(4, line[0].length() - 1) + " " + line[1])
                .toList();
    }
}
