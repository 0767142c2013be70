package dev.verbena.tools.page;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A self-contained HTML page, in light and dark, for wide and narrow screens. */
public final class HtmlPage {
    private static final String STYLE = """
            :root { --ink: #1b1f24; --paper: #ffffff; --faint: #d0d7de; --soft: #57606a;
                    --c0: #0b62d6; --c1: #b4460f; --c2: #1a7f37; --c3: #8250df; --c4: #9a6700; --c5: #bf3989; }
            @media (prefers-color-scheme: dark) {
              :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --soft: #9198a1;
                      --c0: #6cb0ff; --c1: #ff9b63; --c2: #56d364; --c3: #c297ff; --c4: #e3b341; --c5: #ff8dc7; }
            }
            body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: var(--paper); color: var(--ink);
                   font: 16px/1.5 system-ui, sans-serif; }
            h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
            svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
            .grid { stroke: var(--faint); stroke-width: 1; } .curve { fill: none; stroke-width: 2; }
            .curve.earlier { stroke-dasharray: 6 4; }
            .bar { fill: var(--c); } .bar.earlier { fill-opacity: .15; stroke: var(--c); stroke-dasharray: 6 4; }
            .dot { fill: var(--c); stroke: var(--c); stroke-width: 2; } .dot.earlier { fill: var(--paper); }
            .hit { fill: transparent; } .point { cursor: pointer; outline: none; }
            svg .say { visibility: hidden; fill: var(--ink); }
            .point:hover .say, .point:focus .say { visibility: visible; }
            .point:hover .dot, .point:focus .dot { r: 7px; }
            .scroll { overflow-x: auto; margin-bottom: 1.5rem; }
            pre { overflow-x: auto; font-size: .8rem; } summary { cursor: pointer; margin: .5rem 0; }
            table { border-spacing: 0; font-variant-numeric: tabular-nums; }
            caption, .note { text-align: left; color: var(--soft); font-size: .9rem; } caption { white-space: nowrap; }
            th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--faint);
                     white-space: nowrap; }
            th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
            .facts { width: 100%; } .facts th, .facts td { text-align: left; vertical-align: top;
                     white-space: normal; overflow-wrap: anywhere; } .facts th { min-width: 4.5rem; }
            ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; }
            li::before { content: ""; display: inline-block; width: 1.4em; margin-right: .4em;
                         vertical-align: middle; border-top: 3px solid var(--c); }
            li.earlier::before { border-top-style: dashed; }
            @media (max-width: 40rem) {
              svg text { font-size: 17px; } .curve { stroke-width: 3; } .dot { r: 5px; } .hit { r: 17px; }
              table { font-size: .8rem; } th, td { padding: .25rem .3rem; }
            }
            """;

    private HtmlPage() {}

    /**
     * Returns a page.
     *
     * @param title the title as text
     * @param body the contents as HTML
     * @return the page
     */
    public static String of(String title, String body) {
        return """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>%s, measured by Verbena</title>
                <style>
                %s</style>
                </head>
                <body>
                %s</body>
                </html>
                """.formatted(escape(title), STYLE, body);
    }

    /**
     * Returns a text as HTML.
     *
     * @param text the text
     * @return the text without characters that have a meaning in HTML
     */
    public static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /**
     * Returns a table of numbers.
     *
     * @param caption the caption as HTML
     * @param rows the cells as HTML, those of the heading first
     * @return the table
     */
    public static String table(String caption, List<List<String>> rows) {
        StringBuilder text = new StringBuilder("<div class=\"scroll\"><table>\n<caption>" + caption + "</caption>\n");
        String tag = "th>";
        for (List<String> row : rows) {
            text.append("<tr>");
            for (String cell : row) {
                text.append('<').append(tag).append(cell).append("</").append(tag);
            }
            text.append("</tr>\n");
            tag = "td>";
        }
        return text.append("</table></div>\n").toString();
    }

    /**
     * Returns a table of facts.
     *
     * @param facts the values by name, as text
     * @return the table
     */
    public static String facts(Map<String, String> facts) {
        StringBuilder text = new StringBuilder("<table class=\"facts\">\n");
        facts.forEach((name, value) -> text.append(fact(name, List.of(value))));
        return text.append("</table>\n").toString();
    }

    /**
     * Returns a row of a table of facts.
     *
     * @param name the name as text
     * @param values the values as text
     * @return the row
     */
    public static String fact(String name, List<String> values) {
        StringBuilder row = new StringBuilder("<tr><th>" + escape(name) + "</th>");
        values.forEach(value -> row.append("<td>").append(escape(value)).append("</td>"));
        return row.append("</tr>\n").toString();
    }

    /**
     * Checks that a page can be written, before minutes are spent on its contents.
     *
     * @param option the option that names the file
     * @param file the file
     * @param environment the variables of the environment
     * @return the reason why the file can't be written, or why it would be lost with a guest; or an empty text
     */
    public static String problemOf(String option, Path file, Map<String, String> environment) {
        Path place = file.toAbsolutePath().normalize();
        Path folder = place.getParent();
        if (folder == null || Files.isDirectory(place) || !Files.isDirectory(folder)) {
            return option + " needs a file in an existing folder, got '" + file + "'";
        }
        if (!Files.isWritable(Files.exists(place) ? place : folder)) {
            return option + " needs a file that can be written, got '" + file + "'";
        }
        String kept = environment.get("VERBENA_GUEST_KEEPS"); // set by scripts/soft-roce
        if (kept != null && !place.startsWith(kept)) {
            return option + ": this guest keeps only files below " + kept + ", and would lose '" + file + "'";
        }
        return "";
    }

    /**
     * Adds the machine, the kernel and the JDK to the facts of a page.
     *
     * @param facts takes the facts by name
     * @param java the name and version of the JDK
     */
    public static void addMachine(Map<String, String> facts, String java) {
        facts.put(
                "Machine",
                System.getProperty("os.arch") + ", " + Runtime.getRuntime().availableProcessors() + " processors"
                        + (System.getenv("VERBENA_GUEST") == null ? "" : ", a guest of scripts/soft-roce"));
        facts.put("Kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.put("JDK", java);
    }
}
