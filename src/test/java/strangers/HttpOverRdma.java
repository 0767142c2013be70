package strangers;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A program that knows nothing of RDMA, with no class but this one, in no package of the library's module: an HTTP server and
 * client of the JDK. It posts some bodies, and prints whether they came back, with the lines of {@code /proc/net/tcp} that
 * have the server's port. Then the server serves {@code curl}.
 *
 * <p>Arguments: the server's address and the command for curl. Without a command, the exchange is by HTTPS.
 */
public final class HttpOverRdma {
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final int LARGE = 300_000;

    private HttpOverRdma() {}

    public static void main(String[] arguments) {
        try {
            run(arguments);
            System.out.println("done");
            System.exit(0);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1); // the threads of the servers go on
        }
    }

    private static void run(String[] arguments) throws Exception {
        InetSocketAddress address = new InetSocketAddress(arguments[0], 0);
        List<String> command = List.of(arguments).subList(1, arguments.length);
        if (command.isEmpty()) {
            exchangeSecurely(address);
            return;
        }
        HttpServer plain = HttpServer.create(address, 0);
        try (HttpClient client = client().build()) {
            exchange("http", start(plain), client);
        }
        curl(command, plain);
    }

    private static void exchangeSecurely(InetSocketAddress address) throws Exception {
        SSLContext tls = tls(address.getAddress().getHostAddress());
        HttpsServer secure = HttpsServer.create(address, 0);
        secure.setHttpsConfigurator(new HttpsConfigurator(tls));
        try (HttpClient client = client().sslContext(tls).build()) {
            exchange("https", start(secure), client);
        }
    }

    private static HttpClient.Builder client() {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofMinutes(1));
    }

    /** Returns bytes with a pattern that shows a shift. */
    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i ^ i >> 8 ^ i >> 16);
        }
        return bytes;
    }

    private static HttpServer start(HttpServer server) {
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            byte[] answer = exchange.getRequestMethod().equals("GET") ? pattern(LARGE) : body;
            exchange.sendResponseHeaders(200, answer.length == 0 ? -1 : answer.length);
            try (var out = exchange.getResponseBody()) {
                out.write(answer);
            }
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
        return server;
    }

    private static String at(String scheme, HttpServer server) {
        InetSocketAddress address = server.getAddress();
        return scheme + "://" + address.getAddress().getHostAddress() + ":" + address.getPort() + "/";
    }

    private static void exchange(String scheme, HttpServer server, HttpClient client)
            throws IOException, InterruptedException {
        for (int size : new int[] {1, 1_000, LARGE}) {
            byte[] body = pattern(size);
            HttpResponse<byte[]> response = client.send(
                    HttpRequest.newBuilder(URI.create(at(scheme, server)))
                            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                            .timeout(Duration.ofMinutes(2))
                            .build(),
                    HttpResponse.BodyHandlers.ofByteArray());
            System.out.println(scheme + " " + size + " bytes: " + response.statusCode() + " "
                    + Arrays.equals(body, response.body())
                    + response.sslSession()
                            .map(session -> " " + session.getProtocol())
                            .orElse(""));
        }
        String hexadecimal = ":%04X ".formatted(server.getAddress().getPort());
        for (String table : new String[] {"tcp", "tcp6"}) {
            try (var lines = Files.lines(Path.of("/proc/net", table))) {
                System.out.println(scheme + " in " + table + ": "
                        + lines.filter(line -> line.contains(hexadecimal)).count());
            }
        }
    }

    /** Fetches a page by a C program, which the given variables of its environment make use RDMA. */
    private static void curl(List<String> command, HttpServer server) throws IOException, InterruptedException {
        List<String> whole = new ArrayList<>(command);
        whole.add(at("http", server));
        Process process = new ProcessBuilder(whole)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (InputStream page = process.getInputStream()) {
            System.out.println("curl: " + Arrays.equals(page.readAllBytes(), pattern(LARGE)) + " " + process.waitFor());
        }
    }

    /** Makes a key and a certificate for an address, which both ends then use. */
    private static SSLContext tls(String address) throws Exception {
        Path folder = Files.createTempDirectory("verbena");
        Path file = folder.resolve("keys");
        String command = "-genkeypair -alias server -keyalg EC -dname CN=verbena -ext san=ip:" + address
                + " -storepass " + new String(PASSWORD) + " -keystore " + file;
        // The program keytool is this class. Its own JVM would take ten seconds more in a guest.
        Class.forName("sun.security.tools.keytool.Main")
                .getMethod("main", String[].class)
                .invoke(null, (Object) command.split(" "));
        KeyStore keys = KeyStore.getInstance(file.toFile(), PASSWORD);
        Files.delete(file);
        Files.delete(folder);
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD);
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        trusted.setCertificateEntry("server", keys.getCertificate("server"));
        TrustManagerFactory peers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        peers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), peers.getTrustManagers(), null);
        return context;
    }
}
