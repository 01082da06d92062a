// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";

/// The cheapest usual contract: ERC721A with one base URI for all tokens. It is deployed itself, without a proxy.
contract BaselineERC721A is ERC721AUpgradeable {
    string private _base;

    constructor(string memory name, string memory symbol, string memory base) initializerERC721A {
        __ERC721A_init(name, symbol);
        _base = base;
    }

    function mint(address receiver, uint256 count) external {
        _mint(receiver, count);
    }

    function mintBatch(address[] calldata receivers) external {
        for (uint256 i; i < receivers.length; ++i) _mint(receivers[i], 1);
    }

    function _startTokenId() internal pure override returns (uint256) {
        return 1;
    }

    function _baseURI() internal view override returns (string memory) {
        return _base;
    }
}
