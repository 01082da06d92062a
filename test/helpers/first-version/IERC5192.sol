// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Minimal soulbound tokens (ERC-5192). The interface ID is 0xb45a3c0e.
interface IERC5192 {
    event Locked(uint256 tokenId);
    event Unlocked(uint256 tokenId);

    function locked(uint256 tokenId) external view returns (bool);
}
