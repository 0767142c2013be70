package dev.verbena.bench;

import dev.verbena.bench.Case.ArenaKind;
import dev.verbena.bench.Case.Profile;
import java.util.List;
import java.util.Locale;

/** Draws all rows as bars, C above Java. */
final class Chart {
    private static final int LEFT = 330;
    private static final int WIDTH = 800;
    private static final int HEIGHT = 34;
    private static final int BAR = 12;

    private final List<Result> results;

    Chart(List<Result> results) {
        this.results = results;
    }

    String svg() {
        double most = results.stream().mapToDouble(Result::java).max().orElse(1);
        int height = HEIGHT * (results.size() + Profile.values().length) + 20;
        StringBuilder svg = new StringBuilder(String.format(Locale.ROOT, """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" style="max-width:100%%;height:auto"
                  font-family="sans-serif" font-size="12" fill="currentColor">
                <style>@media (prefers-color-scheme: dark) { svg:root { color: #e3e6ea } }</style>
                <title>Nanoseconds per operation in C and in Java</title>
                """, WIDTH, height, WIDTH));
        int y = 10;
        Profile last = null;
        for (Result result : results) {
            if (result.of().profile() != last) {
                last = result.of().profile();
                svg.append(String.format(
                        Locale.ROOT,
                        "<text x=\"10\" y=\"%d\" font-weight=\"bold\">%s: ns per operation, C and Java</text>%n",
                        y + 20,
                        last == Profile.LEAN ? "lean provider" : "libmlx5"));
                y += HEIGHT;
            }
            double scale = (WIDTH - LEFT - 120) / most;
            svg.append(String.format(
                    Locale.ROOT,
                    """
                    <text x="%d" y="%d" text-anchor="end">%s</text>
                    <rect x="%d" y="%d" width="%.1f" height="%d" fill="#7d8894"/>
                    <text x="%.1f" y="%d">%.1f</text>
                    <rect x="%d" y="%d" width="%.1f" height="%d" fill="#a64db8"/>
                    <text x="%.1f" y="%d">%.1f (%.2fx)</text>
                    """,
                    LEFT - 8,
                    y + 17,
                    label(result.of()),
                    LEFT,
                    y,
                    result.c() * scale,
                    BAR,
                    LEFT + result.c() * scale + 5,
                    y + 10,
                    result.c(),
                    LEFT,
                    y + BAR + 1,
                    result.java() * scale,
                    BAR,
                    LEFT + result.java() * scale + 5,
                    y + BAR + 11,
                    result.java(),
                    result.ratio()));
            y += HEIGHT;
        }
        return svg.append("</svg>\n").toString();
    }

    private static String label(Case of) {
        String frames = of.frames() == 1 ? "" : ", " + of.frames() + " deep";
        String arena = of.arena() == ArenaKind.CONFINED ? "" : ", shared arena";
        String calls = switch (of.calls()) {
            case CRITICAL, BY_DRIVER -> "";
            case PLAIN -> ", plain calls";
            case PLAIN_BARRIER -> ", plain calls with barrier";
        };
        return of.row().label() + frames + arena + calls;
    }
}
