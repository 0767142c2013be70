package dev.verbena.docs;

import dev.verbena.CName;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.commonmark.node.Code;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlInline;
import org.commonmark.node.Image;
import org.commonmark.node.Link;

/**
 * Builds the documentation as one site: the README as the front page, a page for each chapter, and Javadoc, whose search
 * also finds the chapters' headings and the names of C functions.
 */
final class Site {
    /** The name that Javadoc's own first page gets, because the README is the front page. */
    static final String OVERVIEW = "overview.html";

    private static final Path STYLE = Path.of("src/docs/site.css");

    private final Path folder;
    private final List<Chapter> chapters = Chapter.all();

    /** The classes with a page of Javadoc, by the path of the page. */
    private final Map<String, Class<?>> pages = new TreeMap<>();

    /** The files of the project that chapters link to. */
    private final Set<Path> files = new HashSet<>();

    private Site(Path folder) throws IOException {
        this.folder = folder;
    }

    /** Builds the site in a folder. The exit status is 1 if Javadoc complains. */
    public static void main(String[] args) throws IOException {
        String complaints = build(Path.of(args[0]));
        System.err.print(complaints);
        System.exit(complaints.isEmpty() ? 0 : 1);
    }

    /** Builds the site in a folder, and returns the complaints of Javadoc. */
    static String build(Path folder) throws IOException {
        String complaints = javadoc(folder);
        if (complaints.isEmpty()) {
            new Site(folder).write();
        }
        return complaints;
    }

    private static String javadoc(Path folder) {
        String modules = Arrays.stream(System.getProperty("java.class.path").split(":"))
                .filter(entry -> entry.contains("jspecify"))
                .collect(Collectors.joining(":"));
        StringWriter complaints = new StringWriter();
        PrintWriter out = new PrintWriter(complaints);
        int status = ToolProvider.findFirst("javadoc")
                .orElseThrow()
                .run(out, out, "@src/main/javadoc/options", "-d", folder.toString(), "--module-path", modules);
        return status == 0 ? complaints.toString() : complaints + "javadoc ended with status " + status + "\n";
    }

    private void write() throws IOException {
        findPages();
        Files.move(folder.resolve("index.html"), folder.resolve(OVERVIEW));
        Files.copy(STYLE, folder.resolve(STYLE.getFileName()));
        List<String> entries = cNames();
        for (Chapter chapter : chapters) {
            headings(chapter).forEach(entries::add);
            chapter.nodes(Link.class).forEach(link -> link.setDestination(address(chapter, link.getDestination())));
            chapter.nodes(Code.class).forEach(this::linkToJavadoc);
            for (Image image : chapter.nodes(Image.class)) {
                inline(image, chapter.target(image.getDestination()));
            }
            write(chapter.page(), chapter.titles().getFirst().text(), chapter.html());
        }
        for (Path file : files) {
            String text = escape(Files.readString(file));
            write(address(file), file.toString(), "<h1>%s</h1>\n<pre><code>%s</code></pre>\n".formatted(file, text));
        }
        Path index = folder.resolve("tag-search-index.js");
        StringBuilder javadoc = new StringBuilder(Files.readString(index));
        Files.writeString(index, javadoc.insert(javadoc.indexOf("[") + 1, String.join(",", entries) + ","));
    }

    private void findPages() throws IOException {
        Path root = folder.resolve("dev.verbena");
        try (Stream<Path> found = Files.walk(root)) {
            for (Path page : found.toList()) {
                String name = root.relativize(page).toString();
                if (name.matches(".*/[A-Z][^-]*\\.html")) {
                    String type =
                            name.replaceFirst("\\.html$", "").replace('.', '$').replace('/', '.');
                    pages.put("dev.verbena/" + name, load(type));
                }
            }
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, Site.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("Javadoc has a page of a class that is not compiled", e);
        }
    }

    /** Returns entries of the search index for the C functions that types and methods name, which the JDK lists in no order. */
    private List<String> cNames() {
        List<String> entries = new ArrayList<>();
        pages.forEach((page, type) -> {
            addNames(entries, type, type.getSimpleName(), page);
            Stream.concat(Stream.of(type.getDeclaredMethods()), Stream.of(type.getDeclaredConstructors()))
                    .forEach(member -> {
                        boolean isHidden = (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) == 0;
                        addNames(
                                entries,
                                member,
                                type.getSimpleName() + (isHidden ? "" : "." + label(member)),
                                isHidden ? page : page + "#" + anchor(member));
                    });
        });
        Collections.sort(entries); // each build makes the same file
        return entries;
    }

    private static void addNames(List<String> entries, AnnotatedElement element, String holder, String url) {
        CName names = element.getDeclaredAnnotation(CName.class);
        for (String name : names == null ? new String[0] : names.value()) {
            entries.add(entry(name, holder, url));
        }
    }

    private static String label(Executable member) {
        return (member instanceof Method ? member.getName() : "new")
                + Arrays.stream(member.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }

    /** Returns the anchor that Javadoc gives a member. */
    private static String anchor(Executable member) {
        String parameters = Arrays.stream(member.getParameterTypes())
                .map(Class::getCanonicalName)
                .collect(Collectors.joining(","));
        return (member instanceof Method ? member.getName() : "<init>") + "("
                + (member.isVarArgs() ? parameters.replaceFirst("\\[]$", "...") : parameters) + ")";
    }

    private static Stream<String> headings(Chapter chapter) {
        return chapter.titles().stream()
                .map(title -> entry(
                        title.text(),
                        chapter.titles().getFirst().text(),
                        chapter.page() + (title.level() == 1 ? "" : "#" + title.anchor())));
    }

    private static String entry(String label, String holder, String url) {
        return "{\"l\":\"%s\",\"h\":\"%s\",\"u\":\"%s\"}".formatted(label.replace("\"", ""), holder, url);
    }

    /** Returns the address in the site for a link of a chapter. Links to other files of the project get a page with the file. */
    private String address(Chapter from, String destination) {
        if (Chapter.isExternal(destination) || destination.startsWith("#")) {
            return destination;
        }
        Path file = from.target(destination);
        for (Chapter chapter : chapters) {
            if (chapter.file().equals(file)) {
                return chapter.page() + destination.replaceFirst("^[^#]*", "");
            }
        }
        files.add(file);
        return address(file);
    }

    private static String address(Path file) {
        return file.toString().replace('/', '.') + ".html";
    }

    /** Makes a link of the name of a type or package, alone or in front of a member. */
    private void linkToJavadoc(Code code) {
        if (code.getParent() instanceof Link || code.getParent() instanceof Heading) {
            return;
        }
        String name = code.getLiteral().replaceFirst("[#(@].*", "");
        String page = pageOf(name);
        if (name.startsWith("dev.verbena")) {
            String summary = "dev.verbena/" + name.replace('.', '/') + "/package-summary.html";
            page = Files.exists(folder.resolve(summary)) ? summary : "";
        }
        if (!page.isEmpty()) {
            Link link = new Link(page, null);
            code.insertBefore(link);
            link.appendChild(code);
        }
    }

    /** Returns the page of a type, from its name or that of a member, or an empty text. */
    private String pageOf(String name) {
        for (String type = name; !type.isEmpty(); type = type.replaceFirst("(^|\\.)[^.]*$", "")) {
            String end = "/" + type + ".html";
            List<String> found =
                    pages.keySet().stream().filter(page -> page.endsWith(end)).toList();
            if (found.size() == 1) {
                return found.getFirst();
            }
        }
        return "";
    }

    /** Puts an SVG file in place of an image, because a picture in a file of its own can't take the colours of the page. */
    private static void inline(Image image, Path file) throws IOException {
        HtmlInline svg = new HtmlInline();
        svg.setLiteral(Files.readString(file).strip());
        image.insertBefore(svg);
        image.unlink();
    }

    /** Returns the items of the menu: all chapters, and in the chapter of this page its sections. */
    private String menu(String page) {
        StringBuilder menu = new StringBuilder();
        for (Chapter chapter : chapters) {
            boolean isHere = chapter.page().equals(page);
            menu.append("<li%s><a href=\"%s\">%s</a>"
                    .formatted(
                            isHere ? " class=\"here\"" : "",
                            chapter.page(),
                            escape(chapter.titles().getFirst().text())));
            if (isHere) {
                menu.append(chapter.titles().stream()
                        .filter(title -> title.level() == 2)
                        .map(title ->
                                "<li><a href=\"#%s\">%s</a></li>\n".formatted(title.anchor(), escape(title.text())))
                        .collect(Collectors.joining("", "\n<ul>\n", "</ul>")));
            }
            menu.append("</li>\n");
        }
        return menu.append("<li><a href=\"")
                .append(OVERVIEW)
                .append("\">Javadoc</a></li>\n")
                .toString();
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }

    private void write(String page, String title, String body) throws IOException {
        Files.writeString(folder.resolve(page), """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="UTF-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>%s</title>
                <link rel="stylesheet" href="site.css">
                </head>
                <body class="chapter">
                <header>
                <a href="index.html">Verbena</a>
                <form action="search.html">
                <input type="search" name="q" placeholder="Search" aria-label="Search the chapters and Javadoc">
                </form>
                </header>
                <nav>
                <ul>
                %s</ul>
                </nav>
                <main>
                %s</main>
                </body>
                </html>
                """.formatted(escape(title), menu(page), body));
    }
}
