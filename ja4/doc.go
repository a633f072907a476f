// Package ja4 computes JA4, the fingerprint of a TLS client, from its
// ClientHello, in the four forms that are in use:
//
//	ja4     t13d1516h2_8daaf6152771_e5627efa2ab1     lists sorted and hashed
//	ja4_o   t13d1516h2_acb858a92679_4237572e953b     in the order sent, hashed
//	ja4_r   t13d1516h2_002f,0035,…_0005,000a,…_0403,…    sorted, in full
//	ja4_ro  t13d1516h2_1301,1302,…_001b,0000,…_0403,…    in the order sent, in full
//	        |  a     | |    b     | |    c     |
//
// Part a is legible: transport, version, whether a name was sent, how many
// suites and extensions, first protocol. Part b is the cipher suites, part c
// the extensions and signature algorithms.
//
// The specification is technical_details/JA4.md of github.com/FoxIO-LLC/ja4 at
// revision 0e54bc8371de34df94a35f2442c05bda2e8b2034; sentences of it stand,
// quoted, above the constants they set. JA4 for TLS clients is published under
// the BSD 3-Clause licence (testvectors/ja4/LICENSE-JA4). The other members of
// the family are under another licence, and none of them is here.
//
// Where the text leaves a choice:
//   - an ALPN list that begins with a GREASE name: the name is taken as it is
//     (0a 0a gives "0a"), since "ignore GREASE" is said of code points and the
//     reference programs print the first name;
//   - a supported_versions that holds nothing but GREASE: unknown, "00";
//   - ja4_o of a hello whose only extensions are SNI and ALPN: the hash of that
//     list, which is empty only in the sorted form.
//
// A hello that TLS refuses still has a fingerprint, so this package reads hellos
// by itself and more leniently than tlsstack/wire: repeated extensions, empty
// lists and malformed bodies count as what they are.
package ja4
