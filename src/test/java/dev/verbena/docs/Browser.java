package dev.verbena.docs;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A headless Chromium that opens each page of a folder in a frame, 390 and 1280 pixels wide, in light and dark colours. No
 * page may scroll sideways, lack a file or a picture, break short code into two lines, or have text that its background
 * hides; and the search must work.
 */
final class Browser {
    static final List<String> PROGRAMS = List.of("chromium", "chromium-browser", "google-chrome");

    private static final int DEADLINE_MINUTES = 10;

    /** The page that opens the others, and sends what it finds to the server. */
    private static final String CHECK = """
            <!DOCTYPE html>
            <meta charset="UTF-8">
            <style>iframe { border: 0; height: 900px; }</style>
            <iframe></iframe>
            <script>
            const frame = document.querySelector('iframe'), found = [];

            function open(address) {
                return new Promise(done => {
                    frame.onload = () => done(frame.contentDocument);
                    frame.contentWindow.location.replace(address);
                });
            }

            function luminance(colour) {
                const [r, g, b] = colour.match(/[\\d.]+/g).map(v => v / 255).map(v => v < .04 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                return .2126 * r + .7152 * g + .0722 * b;
            }

            function background(element) {
                for (let e = element; e; e = e.parentElement) {
                    const colour = getComputedStyle(e).backgroundColor;
                    if (!/, 0\\)$/.test(colour)) return colour;
                }
                return 'rgb(255, 255, 255)';
            }

            function checkWidth(page, document, width) {
                const root = document.documentElement, at = `${page}, ${width} pixels wide: `;
                if (document.body.childElementCount === 0) found.push(at + 'empty');
                if (root.scrollWidth > root.clientWidth) {
                    const wide = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > root.clientWidth);
                    found.push(at + 'scrolls sideways to ' + root.scrollWidth + ': ' + (wide.at(-1) || root).outerHTML.slice(0, 200));
                }
                for (const image of document.images) {
                    if (!image.naturalWidth && image.getClientRects().length) found.push(at + 'no picture ' + image.src);
                }
                for (const code of document.querySelectorAll('.short')) {
                    if (code.closest('p, li') && code.getClientRects().length > 1) found.push(at + 'broken ' + code.textContent);
                }
            }

            function checkColours(page, document, scheme) {
                const seen = new Set();
                for (const element of document.querySelectorAll('body *')) {
                    const name = element.tagName + '.' + element.getAttribute('class');
                    if (seen.has(name) || ![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
                    const place = element.getBoundingClientRect();
                    if (!place.width || place.right < 0 || place.bottom + frame.contentWindow.scrollY < 0 || element.closest('[disabled]')) continue;
                    seen.add(name);
                    const style = frame.contentWindow.getComputedStyle(element);
                    const text = element.closest('svg') ? style.fill : style.color, behind = background(element);
                    const [low, high] = [text, behind].map(luminance).sort((a, b) => a - b);
                    if ((high + .05) / (low + .05) < 3) found.push(`${page}, ${scheme}: ${text} on ${behind}: ${element.outerHTML.slice(0, 200)}`);
                }
            }

            async function search(word, result) {
                const document = await open('search.html?q=' + encodeURIComponent(word));
                while (!document.querySelector(`a[href*="${result}"]`)) await new Promise(done => setTimeout(done, 20));
                check('search for ' + word, document);
            }

            function check(page, document) {
                for (const width of [390, 1280]) {
                    frame.style.width = width + 'px';
                    checkWidth(page, document, width);
                }
                for (const scheme of ['light', 'dark']) {
                    frame.style.colorScheme = scheme;
                    if (!frame.contentWindow.matchMedia(`(prefers-color-scheme: ${scheme})`).matches) found.push('no colours of ' + scheme);
                    checkColours(page, document, scheme);
                }
            }

            (async () => {
                await search('ibv_reg_mr', 'ProtectionDomain.html#register(');
                await search('the arena', 'guide.html#');
                for (const page of %s) check(page, await open(page));
                await fetch('result', {method: 'POST', body: found.join('\\n')});
            })().catch(e => fetch('result', {method: 'POST', body: String(e.stack)}));
            </script>
            """;

    private Browser() {}

    /** Returns the path of Chromium. */
    static Optional<Path> program() {
        return Stream.of(System.getenv("PATH").split(":"))
                .flatMap(folder -> PROGRAMS.stream().map(name -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Opens pages of a folder and returns what is wrong with them, a line each. */
    static String findings(Path folder, List<String> pages, Path profile) throws Exception {
        String list = pages.stream().map(page -> "'" + page + "'").collect(Collectors.joining(",", "[", "]"));
        StringBuffer missing = new StringBuffer();
        CompletableFuture<String> result = new CompletableFuture<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> answer(exchange, folder, missing, result, list));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            server.setExecutor(threads);
            server.start();
            Process browser = new ProcessBuilder(
                            program().orElseThrow().toString(),
                            "--headless",
                            "--no-sandbox",
                            "--disable-gpu",
                            "--disable-dev-shm-usage",
                            "--no-first-run",
                            "--window-size=1400,1000",
                            "--user-data-dir=" + profile,
                            "http://127.0.0.1:" + server.getAddress().getPort() + "/check")
                    .redirectErrorStream(true)
                    .redirectOutput(profile.resolve("output").toFile())
                    .start();
            browser.onExit().thenAccept(ended -> result.complete("Chromium ended with status " + ended.exitValue()));
            try {
                return result.get(DEADLINE_MINUTES, TimeUnit.MINUTES) + missing;
            } finally {
                browser.descendants().forEach(ProcessHandle::destroyForcibly);
                browser.destroyForcibly().waitFor();
                server.stop(0);
            }
        }
    }

    private static void answer(
            HttpExchange exchange, Path folder, StringBuffer missing, CompletableFuture<String> result, String pages)
            throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath().substring(1);
            Path file = folder.resolve(path);
            byte[] body = {};
            int status = 200;
            if (path.equals("check")) {
                body = CHECK.replace("%s", pages).getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Content-Type", "text/html");
            } else if (path.equals("result")) {
                result.complete(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            } else if (Files.isRegularFile(file)) {
                body = Files.readAllBytes(file);
                exchange.getResponseHeaders().set("Content-Type", type(path));
                exchange.getResponseHeaders().set("Cache-Control", "max-age=600");
            } else if (!path.equals("favicon.ico")) {
                missing.append("\nno file ").append(path);
                status = 404;
            }
            exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
            if (body.length > 0) {
                exchange.getResponseBody().write(body);
            }
        }
    }

    private static String type(String path) {
        return switch (path.substring(path.lastIndexOf('.') + 1)) {
            case "html" -> "text/html";
            case "css" -> "text/css";
            case "js" -> "text/javascript";
            case "svg" -> "image/svg+xml";
            default -> "application/octet-stream";
        };
    }
}
