"""Spellings of places that must not be called, for tests of programs that call URLs.

Some program that reads URLs is led by each of them to this machine or to a private network, or two
programs read it differently. A guard must refuse every one.
"""

# Hosts as written in a URL, by what they try. The libc of most systems reads the odd numbers.
_IN_PLAIN = """
127.0.0.1 127.0.0.2 127.1.2.3 127.127.127.127 127.255.255.254 127.0.0.0 127.255.255.255
0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255 10.0.0.1 10.0.0.0 10.1.2.3 10.255.255.255
172.16.0.1 172.20.10.5 172.31.255.255 192.168.0.1 192.168.1.1 192.168.255.255
100.64.0.1 100.100.100.200 100.127.255.255 169.254.169.254 169.254.170.2 169.254.0.1
169.254.255.255 168.63.129.16 192.0.0.1 192.0.0.8 192.0.0.170 192.0.0.192 192.0.2.1
192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7
203.0.113.9 224.0.0.1 224.0.0.251 233.252.0.1 239.255.255.250 240.0.0.1 250.1.2.3
255.255.255.254 255.255.255.255
127.0.0.1. 10.0.0.1. 169.254.169.254. 0.0.0.0. 192.168.0.1.
"""
_IN_NUMBERS = """
2130706433 2130706434 2147483647 0 00 000000000000 1 4294967295 4294967296 6425673729
167772161 2886729729 3232235521 3232235777 2852039166 2852039170 1681915905
0x7f000001 0x7F000001 0X7F000001 0x07f000001 0x0007f000001 0x0 0x 0X 0x00000000 0x1 0xffffffff
0x17f000001 0xa000001 0x0a000001 0xac100001 0xc0a80001 0xC0A80001 0xa9fea9fe 0xA9FEA9FE
017700000001 0017700000001 00000017700000001 012000000001 025177524776 0300.0250.0.1
0177.0.0.1 0177.0.0.01 0177.00.00.01 0177.000.000.001 00177.0.0.1 000000177.0.0.1 0177.1
0177.0.1 0177.0x0.0.1 012.0.0.1 012.1 0254.020.0.1 0251.0376.0251.0376 00.00.00.00 0.00.0.0
0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7F.0X0.0.1 0x7f.1 0x7f.0.1 0x7f.0x1 0x7f.0x0.1 0x7f.00.0.01
0x0a.0.0.1 0xa.1 0xac.0x10.0.1 0xc0.0xa8.0.1 0xa9.0xfe.0xa9.0xfe 0xa9.0xfe.43518 0x0.0x0.0x0.0x0
127.1 127.0.1 127.2 127.65535 127.16777215 127.0.65535 127.0x1 127.01 127.0.01 127.0.0.01
127.0.0.001 127.000.000.001 127.00.00.1 127.0.0.0x1 127.0x0.0x0.0x1 127.0.0.1.1 127.0.0.256
127.0.0.1.0 127..0.1 127.0.0.1.. .127.0.0.1 127.0.0. 127. 127 127.0.0.-1 127.0.0.1-
10.1 10.0.1 10.65536 010.0.0.1 10.00.0.1 192.168.1 192.168.257 192.11010049 172.16.1 172.1048577
169.254.43518 169.16689662 169.254.0xa9fe 169.0xfea9fe 0.0 0.0.0 0.1 256.256.256.256 1.2.3.4.5
127.1. 2130706433. 0x7f.1. 0177.0.0.1. 0x7f000001. 0.
"""
_IN_IPV6 = """
[::1] [::] [0:0:0:0:0:0:0:1] [0:0:0:0:0:0:0:0] [0000:0000:0000:0000:0000:0000:0000:0001]
[::0001] [0::1] [::0:1] [0:0::1] [0::0:1] [::0:0:1] [0:0:0:0:0:0::1] [::2] [::0.0.0.1]
[::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [::ffff:7F00:0001] [0::ffff:127.0.0.1]
[0:0:0:0:0:ffff:127.0.0.1] [0:0:0:0:0:ffff:7f00:1] [0000::0000:ffff:7f00:0001]
[::ffff:0.0.0.0] [::ffff:0:0] [::ffff:10.0.0.1] [::ffff:a00:1] [::ffff:172.16.0.1]
[::ffff:192.168.0.1] [::ffff:c0a8:1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
[::ffff:100.64.0.1] [::ffff:224.0.0.1] [::ffff:255.255.255.255] [::ffff:127.1] [::ffff:0177.0.0.1]
[::ffff:0x7f.0.0.1] [::ffff:127.0.0.1%25lo] [::ffff:2130706433]
[::127.0.0.1] [::7f00:1] [0:0:0:0:0:0:127.0.0.1] [::10.0.0.1] [::a00:1] [::169.254.169.254]
[::ffff:0:127.0.0.1] [::ffff:0:7f00:1] [::ffff:0:a9fe:a9fe]
[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:FF9B::7F00:1] [64:ff9b::10.0.0.1] [64:ff9b::a9fe:a9fe]
[0064:ff9b:0:0:0:0:7f00:1] [64:ff9b::8.8.8.8] [64:ff9b:1::7f00:1] [64:ff9b:1::127.0.0.1]
[64:ff9b:1:7f00:0:100::] [64:ff9b:1:ffff::1]
[2002:7f00:1::] [2002:7f00:1::1] [2002:7F00:0001::] [2002:a00:1::] [2002:c0a8:1::1]
[2002:a9fe:a9fe::] [2002:808:808::]
[2001::80ff:fffe] [2001:0:4136:e378:8000:63bf:80ff:fffe] [2001::1]
[2001:0:7f00:1::] [2001:10::1] [2001:20::1] [2001:2::1] [2001:1::1] [2001:1ff:ffff::1]
[2a00:1450::5efe:127.0.0.1] [2a00:1450::5efe:7f00:1] [2a00:1450::200:5efe:7f00:1]
[2a00:1450::0:5efe:10.0.0.1] [fe80::5efe:10.0.0.1]
[fc00::1] [fd00::1] [fd00:ec2::254] [fd12:3456:789a:1::1] [fdff:ffff:ffff:ffff::1]
[fe80::1] [fe80::] [febf::1] [fe80::1%25eth0] [fe80::1%25lo] [fe80::1%251] [fe80::1%eth0]
[fe80::1%1]
[::1%25lo] [::1%250] [::1%lo] [2606:4700::1%25eth0] [fec0::1] [feff::1] [ff00::] [ff01::1]
[ff02::1] [ff02::fb] [ff0e::1] [ff7e::1] [100::] [100::1] [100:0:0:1::1] [5f00::1] [200::1] [400::1]
[4000::1] [8000::1] [e000::1] [f000::1] [f800::1] [2001:db8::1] [3ffe::1] [3fff::1] [3fff:fff::1]
[2620:4f:8000::1] [0:ffff:127.0.0.1] [::ffff:127.0.0.1.] [127.0.0.1] [localhost] [::1.] [:::1] [1]
[v1.127.0.0.1] [::1::] [0:0:0:0:0:0:0:0:1] [::00001] [::g] [] [[::1]] [::1 ::1] ::1 [::1]]
"""
_IN_NAMES = """
localhost LOCALHOST LocalHost localhost. localhost.. .localhost foo.localhost foo.bar.localhost.
localhost.localdomain localhost.localdomain. LOCALHOST.LOCALDOMAIN localhost6
localhost6.localdomain6 ip6-localhost ip6-loopback loopback broadcasthost metadata
instance-data metadata.google.internal METADATA.GOOGLE.INTERNAL metadata.google.internal.
instance-data.ec2.internal host.docker.internal gateway.docker.internal kubernetes
kubernetes.default.svc.cluster.local printer.local PRINTER.LOCAL. router.home.arpa db redis
intranet x -localhost localhost- 127.0.0.1-.localhost a_b
"""
# Written as escapes, since in many fonts these look like the real characters.
_IN_LOOK_ALIKES = """
\u2460\u2461\u2466.\u24ea.\u24ea.\u2460 \u2460\u2461\u2466.0.0.1 127.0.0.\u2460 127.\u24ea.0.1
\uff11\uff12\uff17.\uff10.\uff10.\uff11 127.0.0.\uff11 \U0001d7cf\U0001d7d0\U0001d7d5.0.0.1
\U0001d7f7\U0001d7f8\U0001d7fd.0.0.1 \u00b9\u00b2\u2077.0.0.1 \u2081\u2082\u2087.0.0.1
\u0661\u0662\u0667.\u0660.\u0660.\u0661 \u0967\u0968\u096d.0.0.1 127.0.0.\u0661
127\u30020\u30020\u30021 127\uff0e0\uff0e0\uff0e1 127\uff610\uff610\uff611 127.0.0\u30021
localhost\u3002 \u2488.1 0\uff580.1 0\uff58\uff17f.1 \uff10x7f.1 \u24ea\u24e7\u2466\u24d5.1
\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54
\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3
localho\u017ft loca\u2113host \u2112ocalhost lo\u00adcalhost localhost\u200b local\u2060host
\ufefflocalhost \U0001d559\U0001d560\U0001d564\U0001d565.localhost 127.0.0.1\u200b
\u216b.0.0.1 \u3260.localhost [\uff1a\uff1a1] [::\uff11] 127.0.0.1\uff0f localhost\uff03
example.com\uff20127.0.0.1 169\u3002254\u3002169\u3002254 \u2170.localhost
"""
_IN_PERCENT = """
127%2e0%2e0%2e1 127.0.0%2e1 %31%32%37.0.0.1 %31%32%37%2e%30%2e%30%2e%31 127.0.0.1%00 127.0.0.1%20
127.0.0.1%0a 127.0.0.1%0d%0a 127.0.0.1%2f 127.0.0.1%23 127.0.0.1%3f 127.0.0.1%40example.com
%6c%6f%63%61%6c%68%6f%73%74 localhos%74 localhost%2e localhost%00.example.com %5b%3a%3a1%5d
%25%31%32%37.0.0.1 127.0.0.1%252e %7f.0.0.1 %E2%91%A0%E2%91%A1%E2%91%A6.0.0.1 %00 %
"""
HOSTS = tuple(
    f"{_IN_PLAIN} {_IN_NUMBERS} {_IN_IPV6} {_IN_NAMES} {_IN_LOOK_ALIKES} {_IN_PERCENT}".split()
)
"""Hosts, as written in a URL, that must not be called or are meaningless."""

_OTHER_SCHEMES = """
file ftp ftps gopher dict ws wss http+unix unix ldap ldaps tftp sftp scp ssh smb telnet imap smtp
rtsp redis mysql jar netdoc phar php data javascript view-source blob about h2 httpx httpss htt
"""
URLS = (
    *(f"{scheme}://127.0.0.1:{{port}}/" for scheme in _OTHER_SCHEMES.split()),
    "file:///etc/passwd",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/containers/json",
    "javascript:fetch('http://127.0.0.1:{port}/')",
    "data:text/plain,127.0.0.1:{port}",
    "",
    "http",
    "http:",
    "http:/",
    "http://",
    "http:///",
    "http://:{port}/",
    "http://?127.0.0.1",
    "http://#127.0.0.1",
    "//127.0.0.1:{port}/",
    "/127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http:/\\127.0.0.1:{port}/",
    "http://\\127.0.0.1:{port}/",
    "\\\\127.0.0.1\\share",
    "http://127.0.0.1:{port}\\@example.com/",
    "http://example.com\\@127.0.0.1:{port}/",
    "http://example.com\\.127.0.0.1:{port}/",
    "http://127.0.0.1\\:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://user:password@127.0.0.1:{port}/",
    "http://@127.0.0.1:{port}/",
    "http://:@127.0.0.1:{port}/",
    "http://example.com@127.0.0.1:{port}/",
    "http://example.com:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@example.com/",
    "http://127.0.0.1:{port}@@example.com/",
    "http://a@b@127.0.0.1:{port}/",
    "http://example.com%40127.0.0.1:{port}/",
    "http://user@[::1]:{port}/",
    "http://127.0.0.1 @example.com:{port}/",
    "http://127.0.0.1,example.com:{port}/",
    "http://127.0.0.1;example.com:{port}/",
    "http://127.0.0.1&@example.com:{port}/",
    "http://127.0.0.1|example.com:{port}/",
    "http://{{127.0.0.1}}:{port}/",
    "http://<127.0.0.1>:{port}/",
    'http://"127.0.0.1":{port}/',
    "http://*:{port}/",
    "http://127.0.0.*:{port}/",
    "http://127.0.0.1:{port}:80/",
    "http://127.0.0.1:80:{port}/",
    "http://127.0.0.1::{port}/",
    "http://127.0.0.1:0{port}/",
    "http://127.0.0.1:+{port}/",
    "http://127.0.0.1:-{port}/",
    "http://127.0.0.1:{port}x/",
    "http://127.0.0.1:0x{port}/",
    "http://127.0.0.1:{port}.0/",
    "http://127.0.0.1:/",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:65536/",
    "http://127.0.0.1:99999999999999999999/",
    "http://127.0.0.1:\uff18\uff10/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:1023/",
    " http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/ ",
    "http:// 127.0.0.1:{port}/",
    "http://127.0.0.1 :{port}/",
    "\thttp://127.0.0.1:{port}/",
    "ht\ttp://127.0.0.1:{port}/",
    "http://127.\t0.0.1:{port}/",
    "http://127.0.0.1\n:{port}/",
    "http://127.0.0.1:{port}\r\nHost: example.com/",
    "http://127.0.0.1:{port}/\r\nX-Injected: yes",
    "http://127.0.0.1\0.example.com:{port}/",
    "http://127.0.0.1\0:{port}/",
    "http://\x7f127.0.0.1:{port}/",
    "http://\u00a0127.0.0.1:{port}/",
    "http://\u2028127.0.0.1:{port}/",
    "http://local\nhost:{port}/",
    "http://localhost\u3000:{port}/",
    "http://\ud800localhost:{port}/",
    "http://\u202elocalhost:{port}/",
    "\ufeffhttp://127.0.0.1:{port}/",
    "http\uff1a//127.0.0.1:{port}/",
    "http:\uff0f\uff0f127.0.0.1:{port}/",
    "\uff48ttp://127.0.0.1:{port}/",
    "HTTP://127.0.0.1:{port}/",
    "hTTpS://LOCALHOST:{port}/",
    "https://127.0.0.1:{port}/",
    "https://[::1]:{port}/?x=http://example.com/",
    "http://127.0.0.1:{port}?@example.com/",
    "http://127.0.0.1:{port}#@example.com/",
    "http://127.0.0.1:{port}/#@example.com",
    "http://127.0.0.1:{port}/../../",
    "http://[::1]{port}/",
    "http://[::1]x:{port}/",
    "http://x[::1]:{port}/",
    "http://[::1]:{port}]/",
    "http://[::ffff:127.0.0.1]:{port}@example.com/",
    "http://" + "a" * 64 + ".example.com:{port}/",
    "http://" + "a." * 127 + "example.com:{port}/",
    "http://127.0.0.1:{port}/" + "a" * 2048,
    "http://127.0.0.1:{port}/" + "\u00e9" * 1000,
)
"""Whole URLs that must not be called; `{port}` stands for the port of a trap."""


def listed_urls(port: int) -> list[str]:
    """Return every spelling listed here as a URL, with the port of a trap on this machine."""
    by_host = [f"http://{host}:{port}/" for host in HOSTS]
    return by_host + [url.format(port=port) for url in URLS]
