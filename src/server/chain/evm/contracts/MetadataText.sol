// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Text of URIs and JSON. Only views call it, so it is optimized for size and not for gas.
library MetadataText {
    bytes32 private constant BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
    bytes16 private constant HEX = "0123456789abcdef";

    /// The CID of an IPFS directory as `ipfs add --cid-version 1` prints it: version 1, dag-pb (0x70), sha2-256
    /// (0x12) of 32 bytes (0x20), in lower-case base32 without padding behind the multibase prefix `b`.
    function directoryCid(bytes32 digest) internal pure returns (string memory) {
        bytes memory binary = abi.encodePacked(hex"01701220", digest);
        bytes memory text = new bytes(59);
        text[0] = "b";
        uint256 length = 1;
        uint256 buffer;
        uint256 bits;
        for (uint256 i; i < binary.length; ++i) {
            // Bits that were already written are shifted out at the top.
            buffer = (buffer << 8) | uint8(binary[i]);
            bits += 8;
            while (bits >= 5) {
                bits -= 5;
                text[length++] = BASE32[(buffer >> bits) & 31];
            }
        }
        text[length] = BASE32[(buffer << (5 - bits)) & 31];
        return string(text);
    }

    /// Escapes for the inside of a JSON string: quote, backslash and every control character (RFC 8259, section 7).
    function escapeJson(string memory input) internal pure returns (string memory) {
        bytes memory source = bytes(input);
        bytes memory text = new bytes(source.length * 6);
        uint256 length;
        for (uint256 i; i < source.length; ++i) {
            uint256 char = uint8(source[i]);
            // The bytes to write, the first one in the highest place.
            uint256 escaped = char;
            if (char < 0x20) {
                escaped = 0x5c7530300000 | (uint256(uint8(HEX[char >> 4])) << 8) | uint8(HEX[char & 15]);
            } else if (char == 0x22 || char == 0x5c) {
                escaped = 0x5c00 | char;
            }
            for (uint256 bits = 48; bits != 0; ) {
                bits -= 8;
                if (escaped >> bits != 0) text[length++] = bytes1(uint8(escaped >> bits));
            }
        }
        assembly ("memory-safe") {
            mstore(text, length)
        }
        return string(text);
    }
}
