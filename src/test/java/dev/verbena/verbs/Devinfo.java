package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The output of {@code ibv_devinfo -v} for a device: the first value of each name. */
record Devinfo(Map<String, String> values) {
    private static final Pattern LINE = Pattern.compile("(?m)^\\h*(\\w+):\\h+(.*?)\\h*$");

    static Devinfo of(String device) throws IOException {
        Process process = new ProcessBuilder("ibv_devinfo", "-v", "-d", device)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Map<String, String> values = new HashMap<>();
        LINE.matcher(output).results().forEach(line -> values.putIfAbsent(line.group(1), line.group(2)));
        return new Devinfo(values);
    }

    String text(String name) {
        assertThat(values).as("ibv_devinfo").containsKey(name);
        return values.get(name);
    }
}
