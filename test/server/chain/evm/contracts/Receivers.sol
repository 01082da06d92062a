// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Accepts tokens and emits the arguments of the call.
contract Receiver {
    event Received(address operator, address from, uint256 tokenId, bytes data);

    function onERC721Received(address operator, address from, uint256 id, bytes calldata data) external returns (bytes4) {
        emit Received(operator, from, id, data);
        return this.onERC721Received.selector;
    }
}

/// Returns a value other than the expected selector.
contract WrongAnswerReceiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return 0xdeadbeef;
    }
}

contract RevertingReceiver {
    error NotToday();

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        revert NotToday();
    }
}

contract SilentlyRevertingReceiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        revert();
    }
}

contract PanickingReceiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        assert(false);
        return 0;
    }
}

/// Has no onERC721Received at all.
contract NonReceiver {}

/// Makes calls to the collection while it receives a token. It emits how each has ended.
contract ReenteringReceiver {
    event Called(bool success, bytes answer);

    bytes[] private _calls;

    function prepare(bytes[] calldata calls) external {
        for (uint256 i; i < calls.length; ++i) _calls.push(calls[i]);
    }

    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4) {
        bytes[] memory calls = _calls;
        delete _calls;
        for (uint256 i; i < calls.length; ++i) {
            (bool success, bytes memory answer) = msg.sender.call(calls[i]);
            emit Called(success, answer);
        }
        return this.onERC721Received.selector;
    }
}
