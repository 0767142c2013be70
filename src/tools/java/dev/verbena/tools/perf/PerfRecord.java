package dev.verbena.tools.perf;

import dev.verbena.tools.perf.PerfPlan.Mode;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * A finished measurement with its circumstances. A page of {@code perf --html} contains the lines of its record, from
 * which a later page draws it again.
 *
 * @param title what was measured, for example {@code RC send}
 * @param method how it was measured, in sentences
 * @param facts when and where it was measured, by name
 * @param results the results, by mode and size
 */
record PerfRecord(String title, String method, Map<String, String> facts, List<Result> results) {
    static final String BEGIN = "<script type=\"text/x-verbena-perf-1\">\n";
    static final String END = "</script>\n";

    PerfRecord {
        facts = new LinkedHashMap<>(facts);
        results = List.copyOf(results);
    }

    static PerfRecord of(PerfPlan plan, Map<String, String> facts, List<Result> results) {
        return new PerfRecord(plan.title(), method(plan), facts, results);
    }

    private static String method(PerfPlan plan) {
        int seconds = plan.traffic().seconds();
        return (seconds > 0
                        ? seconds + " s for each size, "
                        : String.format(Locale.ROOT, "%,d messages of each size, ", plan.iterations()))
                + (plan.events() ? "woken by events" : "polling")
                + ", connected " + (plan.manager() ? "by the connection manager" : "over TCP")
                + (plan.inline() > 0 ? ", inline up to " + plan.inline() + " bytes" : "")
                + (plan.modes().contains(Mode.BW) ? ", " + plan.depth() + " outstanding for the bandwidth" : "")
                + (plan.modes().contains(Mode.LAT)
                        ? ". The latency is measured " + (plan.answers() ? "as " : "") + plan.meaningOfLatency() + "."
                        : ".");
    }

    /** Returns the results of a mode, the smallest messages first. */
    List<Result> of(Mode mode) {
        Map<Integer, Result> bySize = new java.util.TreeMap<>();
        for (Result result : results) {
            if (result.mode() == mode) {
                bySize.put(result.size(), result);
            }
        }
        return List.copyOf(bySize.values());
    }

    /** Returns the record as lines of a page. */
    String toLines() {
        StringBuilder text = new StringBuilder(BEGIN);
        text.append("title ").append(encode(title)).append('\n');
        text.append("method ").append(encode(method)).append('\n');
        facts.forEach((name, value) -> text.append("fact ")
                .append(encode(name))
                .append(' ')
                .append(encode(value))
                .append('\n'));
        for (Result result : results) {
            ByteBuffer bytes = ByteBuffer.allocate(result.nanos().getNeededByteBufferCapacity());
            int length = result.nanos().encodeIntoCompressedByteBuffer(bytes);
            text.append(String.join(
                            " ",
                            "result",
                            result.mode().name(),
                            String.valueOf(result.size()),
                            String.valueOf(result.iterations()),
                            String.valueOf(result.seconds()),
                            Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length))))
                    .append('\n');
        }
        return text.append(END).toString();
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /**
     * Reads the record in a page.
     *
     * @throws IOException if the file can't be read or contains no complete record
     */
    static PerfRecord read(Path page) throws IOException {
        String text = Files.readString(page, StandardCharsets.UTF_8);
        int begin = text.indexOf(BEGIN);
        int end = begin < 0 ? -1 : text.indexOf(END, begin);
        if (end < 0) {
            throw new IOException("no page of 'perf --html' of this release");
        }
        String title = "";
        String method = "";
        Map<String, String> facts = new LinkedHashMap<>();
        List<Result> results = new ArrayList<>();
        try {
            for (String line :
                    text.substring(begin + BEGIN.length(), end).lines().toList()) {
                String[] words = line.split(" ", -1);
                switch (words[0]) {
                    case "title" -> title = decode(words[1]);
                    case "method" -> method = decode(words[1]);
                    case "fact" -> facts.put(decode(words[1]), decode(words[2]));
                    case "result" -> results.add(result(words));
                    default -> throw new IllegalArgumentException(line);
                }
            }
        } catch (DataFormatException | RuntimeException damaged) {
            throw new IOException("damaged results: " + damaged.getMessage(), damaged);
        }
        if (results.isEmpty()) {
            throw new IOException("no results");
        }
        return new PerfRecord(title, method, facts, results);
    }

    private static Result result(String[] words) throws DataFormatException {
        int size = Integer.parseInt(words[2]);
        int iterations = Integer.parseInt(words[3]);
        double seconds = Double.parseDouble(words[4]);
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(words[5]));
        Histogram nanos = Histogram.decodeFromCompressedByteBuffer(bytes, 1);
        if (size < 1 || iterations < 1 || !(seconds > 0) || seconds == Double.POSITIVE_INFINITY) {
            throw new IllegalArgumentException(String.join(" ", Arrays.copyOf(words, 5)));
        }
        return new Result(Mode.valueOf(words[1]), size, iterations, nanos, seconds);
    }

    private static String decode(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
}
