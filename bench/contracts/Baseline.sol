// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";

/// The usual contract: OpenZeppelin's ERC-721 with a URI stored for each token. Its batch is the cheapest way to mint
/// many tokens with it.
contract Baseline is ERC721URIStorage {
    uint256 private _next = 1;

    constructor(string memory name, string memory symbol) ERC721(name, symbol) {}

    function mint(address receiver, string calldata uri) external {
        _issue(receiver, uri);
    }

    function mintBatch(address[] calldata receivers, string[] calldata uris) external {
        for (uint256 i; i < receivers.length; ++i) _issue(receivers[i], uris[i]);
    }

    function setTokenURI(uint256 tokenId, string calldata uri) external {
        _setTokenURI(tokenId, uri);
    }

    function _issue(address receiver, string calldata uri) private {
        _mint(receiver, _next);
        _setTokenURI(_next++, uri);
    }
}
