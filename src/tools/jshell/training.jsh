var gid = Gid.parse("::ffff:192.0.2.1")
gid.isIpv4Mapped()
String.join(", ", List.of("a", "b")).length()
devices().size()
for (int i = 0; i < 3; i++) { System.out.println(new RemoteMemory(i, i, i)); }
int twice(int n) { return 2 * n; }
twice(21)
Duration.ofSeconds(5)
