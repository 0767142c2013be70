var gid = Gid.parse("::ffff:192.0.2.1")
gid.isIpv4Mapped()
String.join(", ", List.of("a", "b")).length()
devices().size()
for (int i = 0; i < 3; i++) { System.out.println(new RemoteMemory(i, i, i)); }
int twice(int n) { return 2 * n; }
twice(21)
Duration.ofSeconds(5)
// Where there is no device, nodes() connects over TCP, and most of what pair() needs is loaded by name.
nodes()
new java.security.SecureRandom().nextInt()
var needed = "dev/verbena/((cm|net|verbs|internal|internal/(failures|jfr|lifetime)|tools/(device|shell))/)?[^/]*[.]class"
var structs = "dev/verbena/internal/raw/(ibv_(c|device|qp|send_wr|recv_wr|wc|mr|gid|ah)|rdma_|sockaddr|verbs_context).*[.]class"
var jar = new java.util.jar.JarFile(Device.class.getProtectionDomain().getCodeSource().getLocation().getPath())
for (var entry : Collections.list(jar.entries())) {
    String name = entry.getName();
    if (name.matches(needed) || name.matches(structs)) {
        Class.forName(name.replace('/', '.').replace(".class", ""), false, Device.class.getClassLoader());
    }
}
