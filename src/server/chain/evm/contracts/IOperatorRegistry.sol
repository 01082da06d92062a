// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Says which accounts are the service's signers. Collections ask it on every mint, so a signer that is removed
/// loses its rights in all of them at once.
interface IOperatorRegistry {
    function isOperator(address account) external view returns (bool);
}
