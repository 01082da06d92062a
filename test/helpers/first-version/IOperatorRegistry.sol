// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Returns which accounts are the service's signers. Collections query it on every mint, so a removed signer loses its
/// rights in all of them at once.
interface IOperatorRegistry {
    function isOperator(address account) external view returns (bool);
}
