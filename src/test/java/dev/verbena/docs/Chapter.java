package dev.verbena.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.Code;
import org.commonmark.node.Heading;
import org.commonmark.node.Node;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/**
 * The README or a chapter of {@code src/docs}, parsed.
 *
 * @param file the Markdown file
 * @param text the text of the file
 * @param document the parsed text
 */
record Chapter(Path file, String text, Node document) {
    /** A heading, with the anchor that GitHub and the site give it. */
    record Title(int level, String anchor, String text) {}

    static final Path README = Path.of("README.md");
    static final Path FOLDER = Path.of("src/docs");

    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());

    /** Parses the README, and the chapters in the order of the README's last mention of each. */
    static List<Chapter> all() throws IOException {
        Chapter readme = of(README);
        List<Chapter> chapters = new ArrayList<>(List.of(readme));
        try (Stream<Path> files = Files.list(FOLDER)) {
            files.filter(file -> file.toString().endsWith(".md"))
                    .sorted(Comparator.comparing(file -> readme.text.lastIndexOf("](" + file + ")")))
                    .forEach(file -> chapters.add(of(file)));
        }
        return chapters;
    }

    private static Chapter of(Path file) {
        try {
            String text = Files.readString(file);
            return new Chapter(
                    file, text, Parser.builder().extensions(EXTENSIONS).build().parse(text));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the text of the chapter as HTML. */
    String html() {
        return HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .attributeProviderFactory(context -> Chapter::markShort)
                .build()
                .render(document);
    }

    /** Marks code that fits into a line of a small screen: browsers break lines after the hyphens of options. */
    private static void markShort(Node node, String tag, Map<String, String> attributes) {
        if (node instanceof Code code && code.getLiteral().length() <= 30) {
            attributes.put("class", "short");
        }
    }

    /** Returns the headings in order, the first of which is the title. */
    List<Title> titles() {
        IdGenerator anchors = IdGenerator.builder().build();
        return nodes(Heading.class).stream()
                .map(heading -> {
                    StringBuilder words = new StringBuilder();
                    List<Node> parts = new ArrayList<>();
                    collect(heading, Node.class, parts);
                    parts.forEach(part -> words.append(
                            part instanceof Text plain
                                    ? plain.getLiteral()
                                    : part instanceof Code code ? code.getLiteral() : ""));
                    return new Title(heading.getLevel(), anchors.generateId(words.toString()), words.toString());
                })
                .toList();
    }

    /** Returns all nodes of a type. */
    <T extends Node> List<T> nodes(Class<T> type) {
        List<T> found = new ArrayList<>();
        collect(document, type, found);
        return found;
    }

    private static <T extends Node> void collect(Node node, Class<T> type, List<T> found) {
        if (type.isInstance(node)) {
            found.add(type.cast(node));
        }
        for (Node child = node.getFirstChild(); child != null; child = child.getNext()) {
            collect(child, type, found);
        }
    }

    /** Returns the file of the project that a link of this chapter leads to. */
    Path target(String destination) {
        Path here = Path.of("").toAbsolutePath();
        String path = destination.replaceFirst("#.*", "");
        return path.isEmpty()
                ? file
                : here.relativize(here.resolve(file).resolveSibling(path).normalize());
    }

    /** Returns true if a link leads out of the project. */
    static boolean isExternal(String destination) {
        return destination.matches("[a-z]+:.*");
    }

    /** Returns the name of the chapter's page in the site. */
    String page() {
        return file.equals(README)
                ? "index.html"
                : file.getFileName().toString().replaceFirst("md$", "html");
    }

    @Override
    public String toString() {
        return file.toString();
    }
}
