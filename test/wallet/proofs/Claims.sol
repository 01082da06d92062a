// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// Verifies claims of StandardMerkleTree as OpenZeppelin documents them, and of an allowlist of SeaDrop 1.0.
contract Claims {
    struct MintParams {
        uint256 mintPrice;
        uint256 maxTotalMintableByWallet;
        uint256 startTime;
        uint256 endTime;
        uint256 dropStageIndex;
        uint256 maxTokenSupplyForStage;
        uint256 feeBps;
        bool restrictFeeRecipients;
    }

    function counted(bytes32[] calldata proof, bytes32 root, address claimer, uint256 count) external pure returns (bool) {
        return MerkleProof.verifyCalldata(proof, root, keccak256(bytes.concat(keccak256(abi.encode(claimer, count)))));
    }

    function listed(bytes32[] calldata proof, bytes32 root, address claimer) external pure returns (bool) {
        return MerkleProof.verifyCalldata(proof, root, keccak256(bytes.concat(keccak256(abi.encode(claimer)))));
    }

    function allowed(bytes32[] calldata proof, bytes32 root, address minter, MintParams calldata mintParams)
        external
        pure
        returns (bool)
    {
        return MerkleProof.verifyCalldata(proof, root, keccak256(abi.encode(minter, mintParams)));
    }
}
